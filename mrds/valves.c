/* A bank of valves: valves.py in C. */

#define SAME_TIME 1e-9

/* The memory of a bank: these numbers, then commanded, accepted and steady openings, then the states of the valves. */
enum { BANK_T, BANK_NEXT_CLOSE, BANK_STEADY_UNTIL, BANK_IS_COMMANDED, BANK_OPENINGS };

struct bank {
    const struct kernel *command, *move;
    const double *timing; /* delay, rise, minimum pulse */
    double *memory;
    int n, size;
};

static double *bank_commanded(const struct bank *b) { return b->memory + BANK_OPENINGS; }
static double *bank_accepted(const struct bank *b) { return b->memory + BANK_OPENINGS + b->n; }
static double *bank_steady(const struct bank *b) { return b->memory + BANK_OPENINGS + 2 * b->n; }
static double *bank_state(const struct bank *b) { return b->memory + BANK_OPENINGS + 3 * b->n; }

/* Command the openings; those that the valves accept are `bank_accepted`. */
static void bank_command(const struct bank *b, double t, const double *opening)
{
    double *m = b->memory, state[b->size];
    size_t bytes = sizeof(double) * (size_t)b->n;
    int is_same = m[BANK_IS_COMMANDED] && !memcmp(bank_commanded(b), opening, bytes);
    if (is_same && !(t >= m[BANK_NEXT_CLOSE] - SAME_TIME))
        return;
    m[BANK_IS_COMMANDED] = 1;
    memcpy(bank_commanded(b), opening, bytes);
    const struct kernel *k = b->command;
    k->arg[0] = bank_state(b), k->arg[1] = b->timing, k->arg[2] = &t, k->arg[3] = bank_commanded(b);
    k->res[0] = state, k->res[1] = bank_accepted(b), k->res[2] = &m[BANK_NEXT_CLOSE];
    evaluate(k);
    copy(bank_state(b), state, b->size);
    double until = t + b->timing[0];
    m[BANK_STEADY_UNTIL] = until < m[BANK_STEADY_UNTIL] ? until : m[BANK_STEADY_UNTIL];
}

static void bank_move(const struct bank *b, double t0, double t1, double *mean)
{
    double state[b->size], times[] = {t0, t1};
    const struct kernel *k = b->move;
    k->arg[0] = bank_state(b), k->arg[1] = b->timing, k->arg[2] = &times[0], k->arg[3] = &times[1];
    k->res[0] = state, k->res[1] = mean, k->res[2] = bank_steady(b), k->res[3] = &b->memory[BANK_STEADY_UNTIL];
    evaluate(k);
    copy(bank_state(b), state, b->size);
}

/* Mean opening of each valve from t0 to t1. */
static void bank_mean(const struct bank *b, double t0, double t1, double *mean)
{
    double before = b->memory[BANK_T];
    b->memory[BANK_T] = t1;
    if (t1 <= b->memory[BANK_STEADY_UNTIL]) {
        copy(mean, bank_steady(b), b->n);
        return;
    }
    if (-INFINITY < before && before < t0)
        bank_move(b, before, t0, mean);
    bank_move(b, t0, t1, mean);
}
