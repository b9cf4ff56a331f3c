/* The plant, free or under the set of contacts in force: plant.py in C, with the thrust of thrusters.py and the torque of
 * motors.py. Contacts are closed and opened in Python, between two steps. Where contacts depend on each other, their
 * forces need singular values: that is left to Python. */

enum { PLANT_RUNS, PLANT_LOST, PLANT_IN_PYTHON, PLANT_SWITCHES };

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

static int plant_go(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *exposures,
                    int steps, const struct kernel *k)
{
    double thrust[SIM_THRUSTERS * PLANT_TICK + 1], after[PLANT_STATE], path[PLANT_PATH * PLANT_TICK];
    double independence, size;
    long first = (long)m->plant_steps[0], last = first + steps;
    for (int i = 0; i < SIM_BANKS; i++)
        sim_thrust(p, m, ks, i, first, last, thrust);
    k->arg[0] = m->plant_state, k->arg[1] = thrust, k->arg[2] = m->sim_torque;
    k->res[0] = after, k->res[1] = path, k->res[2] = &independence, k->res[3] = &size;
    evaluate(k);
#if PLANT_CONTACTS
    if (!(independence > PLANT_INDEPENDENT))
        return PLANT_IN_PYTHON;
    copy(m->plant_last_thrust, thrust + SIM_THRUSTERS * (steps - 1), SIM_THRUSTERS);
    copy(m->plant_last_torque, m->sim_torque, PLANT_TORQUES);
#endif
    if (!(size < INFINITY))
        return PLANT_LOST;
    copy(m->plant_state, after, PLANT_STATE);
    m->plant_steps[0] = (double)last;
    vision_observe(m, exposures, last, path, steps);
    return PLANT_RUNS;
}

/* Advance to the last physics step that is not after t. `resumed`: on the way there, after contacts were switched. */
static int plant_advance(const struct parameters *p, struct memory *m, const struct kernels *ks,
                         const double *exposures, double t, int resumed)
{
    double step = p->physics_step[0];
    long last = (long)(t / step + SAME_STEP);
    if (!resumed) {
        if (t < m->plant_next[0])
            return PLANT_RUNS;
        m->plant_first[0] = m->plant_steps[0];
        memset(m->plant_state + PLANT_PUSHED, 0, sizeof(double) * SIM_THRUSTERS);
    }
    for (; (long)m->plant_steps[0] < last; resumed = 0) {
        if (m->plant_switches[0] != 0.0 && !resumed)
            return PLANT_SWITCHES;
        int whole = last - (long)m->plant_steps[0] >= PLANT_TICK;
        const struct kernel *k = (whole ? ks->plant_tick : ks->plant_step) + (int)m->plant_set[0];
        int end = plant_go(p, m, ks, exposures, whole ? PLANT_TICK : 1, k);
        if (end != PLANT_RUNS)
            return end;
    }
    m->plant_averaged[0] = (double)last - m->plant_first[0];
    m->plant_next[0] = ((double)last + 1 - SAME_STEP) * step;
    return PLANT_RUNS;
}

/* Status and loads of the contacts, under the forces of the last step, into the truth of a row. */
static int plant_write_contacts(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
#if PLANT_CONTACTS
    double wrench[PLANT_WRENCH * PLANT_CONTACTS], errors[3], *written = row + ROW_TRUTH_WRENCH;
    int set = (int)m->plant_set[0];
    const struct kernel *k = ks->plant_loads + set;
    copy(row + ROW_TRUTH_CLOSED, m->plant_closed, PLANT_CONTACTS);
    memset(written, 0, sizeof(double) * (ROW_TRUTH_CAUGHT - ROW_TRUTH_WRENCH));
    copy(row + ROW_TRUTH_CAUGHT, m->plant_caught, PLANT_CONTACTS);
    copy(row + ROW_TRUTH_LOST, m->plant_lost, 1);
    if (PLANT_CLOSED_COUNT[set] == 0)
        return PLANT_RUNS;
    k->arg[0] = m->plant_state, k->arg[1] = m->plant_last_thrust, k->arg[2] = m->plant_last_torque;
    k->res[0] = wrench, k->res[1] = row + ROW_TRUTH_SQUEEZE, k->res[2] = errors;
    evaluate(k);
    if (!(errors[2] > PLANT_INDEPENDENT))
        return PLANT_IN_PYTHON;
    for (int i = 0; i < PLANT_CLOSED_COUNT[set]; i++)
        copy(written + PLANT_WRENCH * PLANT_CLOSED[PLANT_CLOSED_FIRST[set] + i], wrench + PLANT_WRENCH * i,
             PLANT_WRENCH);
#endif
    (void)p, (void)m, (void)ks, (void)row;
    return PLANT_RUNS;
}
