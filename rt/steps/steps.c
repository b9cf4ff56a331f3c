/* The steps of the tick from estimate to guard: step_by_step.py in C. The row has the sample.
 * What they end with: the guard in Python decides, the command passes, or (plus its number) the next step has no
 * compiled form, or leaves this tick to its Python form: the row gets its record, and the steps go on after it. */

#include <time.h>

enum { STEPS_ASK_THE_GUARD, STEPS_PASS, STEPS_IN_PYTHON };
enum { ESTIMATE, DECIDE, CONTROL, ALLOCATE };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* `which`: the number of each step's part in `run_part`; -1: one in Python. */
int steps(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row, double *laps,
          const int *which, int first)
{
    double since = seconds_now();
    for (int step = first; step <= ALLOCATE; step++) {
        if (!run_part(p, m, ks, row, which[step]))
            return STEPS_IN_PYTHON + step;
        double now = seconds_now();
        laps[step] = now - since;
        since = now;
    }
    return guard(m, ks, row) ? STEPS_PASS : STEPS_ASK_THE_GUARD;
}
