/* The plant, free or under the set of contacts in force: plant.py in C, with the thrust of thrusters.py and the torque of
 * motors.py. Contacts that close or open, contacts that depend on each other, whose forces need singular values, and a
 * motion that is lost are left to Python: plant_in_python.py. */

enum { PLANT_RUNS, PLANT_IN_PYTHON };

static struct bank sim_bank(const struct parameters *p, struct memory *m, const struct kernels *k, int i)
{
    return (struct bank){&k->sim_command[i], &k->sim_move[i], p->sim_timing + 3 * i, m->sim_banks + SIM_BANK[i],
                         SIM_VALVES[i], SIM_BANK_SIZE[i]};
}

/* Thrust with a full tank of device i in the steps after `first` up to `last`, into column after column of `thrust`. */
static void sim_thrust(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, long first,
                       long last, double *thrust)
{
    int at = SIM_FIRST[i];
    double step = p->physics_step[0], opening[SIM_THRUSTERS + 1];
    const double *nominal = p->sim_nominal + at, *stuck = p->sim_stuck + at;
    struct bank bank = sim_bank(p, m, ks, i);
    int at_once = SIM_IS_THROTTLED[i] || last == first + 1 || (double)last * step <= bank.memory[BANK_STEADY_UNTIL];
    for (long k = first; k < last; k++) {
        if (SIM_IS_THROTTLED[i])
            copy(opening, m->sim_throttles + at, SIM_VALVES[i]);
        else if (at_once && k == first)
            bank_mean(&bank, (double)first * step, (double)last * step, opening);
        else if (!at_once)
            bank_mean(&bank, (double)k * step, (double)(k + 1) * step, opening);
        for (int v = 0; v < SIM_VALVES[i]; v++)
            thrust[(k - first) * SIM_THRUSTERS + at + v] = (stuck[v] ? 1.0 : opening[v]) * nominal[v];
    }
}

/* The thrust of all devices. */
int plant_thrust(const struct parameters *p, struct memory *m, const struct kernels *ks, long first, long last,
                 double *thrust)
{
    for (int i = 0; i < SIM_BANKS; i++)
        sim_thrust(p, m, ks, i, first, last, thrust);
    return PLANT_RUNS;
}

/* What the cameras see of the last `steps` steps. */
int plant_observe(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *exposures,
                  long last, const double *path, int steps)
{
    (void)p;
    vision_observe(m, ks, exposures, last, path, steps);
    return PLANT_RUNS;
}

static int plant_go(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *exposures,
                    int steps, const struct kernel *k)
{
    double thrust[SIM_THRUSTERS * PLANT_TICK + 1], after[PLANT_STATE], path[PLANT_PATH * PLANT_TICK];
    double independence, size, banks[SIM_BANKS_SIZE + 1];
    long first = (long)m->plant_steps[0], last = first + steps;
    copy(banks, m->sim_banks, SIM_BANKS_SIZE);
    plant_thrust(p, m, ks, first, last, thrust);
    k->arg[0] = m->plant_state, k->arg[1] = thrust, k->arg[2] = m->sim_torque;
    k->res[0] = after, k->res[1] = path, k->res[2] = &independence, k->res[3] = &size;
    evaluate(k);
    if (!(independence > PLANT_INDEPENDENT && size < INFINITY)) {
        copy(m->sim_banks, banks, SIM_BANKS_SIZE);
        return PLANT_IN_PYTHON;
    }
    copy(m->plant_last_thrust, thrust + SIM_THRUSTERS * (steps - 1), SIM_THRUSTERS);
    copy(m->plant_last_torque, m->sim_torque, PLANT_TORQUES);
    copy(m->plant_state, after, PLANT_STATE);
    m->plant_steps[0] = (double)last;
    return plant_observe(p, m, ks, exposures, last, path, steps);
}

/* Whether a link is bent by about its length, which Python decides. */
static int plant_is_folded(const struct memory *m, const struct kernels *ks)
{
    double bend = 0.0;
    ks->plant_bend->arg[0] = m->plant_state, ks->plant_bend->res[0] = &bend;
    evaluate(ks->plant_bend);
    return !(bend < 0.999);
}

/* Advance to the last physics step that is not after t. */
static int plant_advance(const struct parameters *p, struct memory *m, const struct kernels *ks,
                         const double *exposures, double t)
{
    double step = p->physics_step[0];
    long last = (long)(t / step + SAME_STEP);
    if (t < m->plant_next[0])
        return PLANT_RUNS;
    m->plant_first[0] = m->plant_steps[0];
    memset(m->plant_state + PLANT_PUSHED, 0, sizeof(double) * SIM_THRUSTERS);
    while ((long)m->plant_steps[0] < last) {
        if (PLANT_IS_WATCHED || m->plant_switches[0] != 0.0)
            return PLANT_IN_PYTHON;
        int whole = last - (long)m->plant_steps[0] >= PLANT_TICK;
        const struct kernel *k = (whole ? ks->plant_tick : ks->plant_step) + (int)m->plant_set[0];
        if (plant_go(p, m, ks, exposures, whole ? PLANT_TICK : 1, k) != PLANT_RUNS)
            return PLANT_IN_PYTHON;
    }
    if (PLANT_BENDS && plant_is_folded(m, ks))
        return PLANT_IN_PYTHON;
    m->plant_averaged[0] = (double)last - m->plant_first[0];
    m->plant_next[0] = ((double)last + 1 - SAME_STEP) * step;
    return PLANT_RUNS;
}

/* Loads of the contacts under the forces of the last step; gap, slip and independence. */
static int plant_find_loads(struct memory *m, const struct kernels *ks)
{
#if PLANT_CONTACTS
    double wrench[PLANT_WRENCH * PLANT_CONTACTS];
    int set = (int)m->plant_set[0];
    const struct kernel *k = ks->plant_loads + set;
    memset(m->plant_wrench, 0, sizeof wrench);
    memset(m->plant_squeeze, 0, sizeof(double) * PLANT_SQUEEZE);
    copy(m->plant_errors, (const double[]){0.0, 0.0, 1.0}, 3);
    if (PLANT_CLOSED_COUNT[set] == 0)
        return PLANT_RUNS;
    k->arg[0] = m->plant_state, k->arg[1] = m->plant_last_thrust, k->arg[2] = m->plant_last_torque;
    k->res[0] = wrench, k->res[1] = m->plant_squeeze, k->res[2] = m->plant_errors;
    evaluate(k);
    if (!(m->plant_errors[2] > PLANT_INDEPENDENT))
        return PLANT_IN_PYTHON;
    m->plant_errors[2] = sqrt(m->plant_errors[2]);
    for (int i = 0; i < PLANT_CLOSED_COUNT[set]; i++)
        copy(m->plant_wrench + PLANT_WRENCH * PLANT_CLOSED[PLANT_CLOSED_FIRST[set] + i], wrench + PLANT_WRENCH * i,
             PLANT_WRENCH);
#endif
    (void)m, (void)ks;
    return PLANT_RUNS;
}

/* Status and loads of the contacts and the audit, into the truth of a row. */
static void plant_write_contacts(const struct memory *m, const struct kernels *ks, double *row)
{
#if PLANT_CONTACTS
    copy(row + ROW_TRUTH_CLOSED, m->plant_closed, PLANT_CONTACTS);
    copy(row + ROW_TRUTH_WRENCH, m->plant_wrench, PLANT_WRENCH * PLANT_CONTACTS);
    copy(row + ROW_TRUTH_SQUEEZE, m->plant_squeeze, PLANT_SQUEEZE);
    copy(row + ROW_TRUTH_CAUGHT, m->plant_caught, PLANT_CONTACTS);
    copy(row + ROW_TRUTH_LOST, m->plant_lost, 1);
#endif
#if PLANT_PAIRS
    copy(row + ROW_TRUTH_STRUCK, m->plant_state + PLANT_STRUCK, 2 * PLANT_PAIRS);
#endif
#if PLANT_IS_AUDITED
    const struct kernel *k = ks->plant_audit;
    k->arg[0] = m->plant_state, k->arg[1] = m->plant_lost, k->arg[2] = m->plant_errors;
    k->res[0] = row + ROW_TRUTH_AUDIT;
    evaluate(k);
#endif
    (void)m, (void)ks, (void)row;
}
