/* The allocate step: actuation.py in C, with the thruster banks of thrusters/bank.py. */

static struct bank thruster_bank(const struct parameters *p, struct memory *m, const struct kernels *k, int i)
{
    return (struct bank){&k->bank_command[i], &k->bank_move[i], p->bank_timing + 3 * i, m->banks + BANK[i],
                         BANK_VALVES[i], BANK_SIZE[i]};
}

/* The opening of each valve of one device; all closed where the wrench is not finite. */
static void allocate_valves(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double t,
                            const double *wrench, double *opening)
{
    double after[ALLOCATOR_LONGEST], thrust[ALLOCATOR_LONGEST], *memory = m->allocators + ALLOCATOR[i];
    const double *table = p->sharing + SHARING[i], *given = wrench;
    const struct kernel *k = &ks->allocation[i];
    if (SHARING_SIZE[i]) {
        if (!shareable(table, wrench)) {
            memset(opening, 0, sizeof(double) * (size_t)BANK_VALVES[i]);
            return;
        }
        if (SHARES_BY_PATTERN[i])
            best_pattern(table, wrench, thrust);
        else
            least_propellant(table, wrench, thrust); /* a failure is not a number, and goes on as one */
        given = thrust;
    }
    k->arg[0] = memory, k->arg[1] = &t, k->arg[2] = given;
    k->res[0] = after, k->res[1] = opening;
    evaluate(k);
    copy(memory, after, ALLOCATOR_SIZE[i]);
}

/* Set points of one device of thrusters for the demanded wrench, and their mean opening until the next tick. */
static void open_valves(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double t,
                        const double *wrench, double supply, double *setpoint, double *mean)
{
    double opening[ALLOCATOR_LONGEST], scaled[N_WRENCH + 1];
    if (supply < 1.0) {
        for (int j = 0; BANK_WRENCH[i] + j < N_WRENCH; j++)
            scaled[j] = wrench[j] / supply;
        wrench = scaled;
    }
    allocate_valves(p, m, ks, i, t, wrench, opening);
    double sum = 0.0;
    for (int j = 0; j < BANK_VALVES[i]; j++)
        sum += opening[j];
    if (BANK_THROTTLES || !(sum < INFINITY)) { /* the valves would take a failure for closed */
        copy(setpoint, opening, BANK_VALVES[i]);
        copy(mean, opening, BANK_VALVES[i]);
        return;
    }
    struct bank bank = thruster_bank(p, m, ks, i);
    bank_command(&bank, t, opening);
    copy(setpoint, bank_accepted(&bank), BANK_VALVES[i]);
    bank_mean(&bank, t, t + p->period[0], mean);
    take_shared_supply(p->shared_drop[i], mean, BANK_VALVES[i]);
    for (int j = 0; supply < 1.0 && j < BANK_VALVES[i]; j++)
        mean[j] *= supply;
}

/* The part of its thrust with which a device is allocated; all of it where an estimator says nothing of it. */
static double usable_supply(const struct parameters *p, const double *row, int i)
{
#if SUPPLY_IS_MEASURED
    double supply = row[ROW_STATE_SUPPLY + i];
    if (!(supply > 0))
        return 1.0;
    supply = supply > p->least_supply[0] ? supply : p->least_supply[0];
    return supply < 1.0 ? supply : 1.0;
#else
    (void)p, (void)row, (void)i;
    return 1.0;
#endif
}

/* The wrench for the thrusters and the generalised force, both within the limits of the motors. */
static void share_force(struct memory *m, const struct kernels *ks, const double *row, double *wrench, double *force,
                        double *planned)
{
    double unloading[N_UNLOADING + 1];
    const struct kernel *k = ks->shared;
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = row + ROW_STATE_U;
    k->arg[2] = row + ROW_DEMAND_FORCE, k->arg[3] = row + ROW_DEMAND_WRENCH;
    k->arg[4] = row + ROW_STATE_DISTURBANCE, k->arg[5] = m->unloading;
#if HAS_PAYLOAD
    k->arg[6] = row + ROW_STATE_PAYLOAD;
#endif
    k->res[0] = wrench, k->res[1] = force, k->res[2] = unloading, k->res[3] = planned;
    evaluate(k);
    copy(m->unloading, unloading, N_UNLOADING);
}

/* Returns 0, with nothing changed, where a fault of a thruster was found: the allocation without it is Python's. */
static int actuation_allocate(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    for (int i = 0; i < N_THRUSTERS; i++)
        if (row[ROW_STATE_FAULTS + i])
            return 0;
    double t = row[ROW_STATE_T], mean[N_THRUSTERS + 1], torque[N_MOTORS + 1], *to = mean;
    double shared[N_WRENCH + 1], limited[N_U + 1], planned[N_UNLOADING + 1], *command = row + ROW_COMMAND_T;
    const double *wrench = row + ROW_DEMAND_WRENCH, *force = row + ROW_DEMAND_FORCE;
    memset(command, 0, sizeof(double) * COMMAND_SIZE);
    command[0] = t;
    const double *direct = row + ROW_REFERENCE_DONE + 1;
    for (int i = 0; i < N_DIRECT_DEVICES; i++, direct += DIRECT_SIZE[i - 1])
        copy(row + SETPOINT[DIRECT[i]], direct, DIRECT_SIZE[i]);
    if (row[ROW_STATE_READY] && RESOLVES) {
        share_force(m, ks, row, shared, limited, planned);
        wrench = shared, force = limited;
    }
    copy(row + ROW_COMMAND_UNLOADING, m->unloading, N_UNLOADING);
    if (!row[ROW_STATE_READY])
        return 1;
    for (int i = 0; i < BANKS; i++, to += BANK_VALVES[i - 1])
        open_valves(p, m, ks, i, t, wrench + BANK_WRENCH[i], usable_supply(p, row, i), row + SETPOINT[BANK_DEVICE[i]],
                    to);
#if ALLOCATION_GRIPS
    m->allocation_set[0] = equal_row(p->allocation_sets, ALLOCATION_SETS, ALLOCATION_GRIPS, row + ROW_STATE_HOLDING,
                                     m->allocation_set[0]);
#endif
    const struct kernel *k = ks->delivered + (int)m->allocation_set[0];
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = row + ROW_STATE_U;
    k->arg[2] = force, k->arg[3] = planned, k->arg[4] = mean;
#if HAS_PAYLOAD
    k->arg[5] = row + ROW_STATE_PAYLOAD;
#endif
    k->res[0] = torque, k->res[1] = row + ROW_COMMAND_THRUST;
    evaluate(k);
    const double *from = torque;
    for (int i = 0; i < MOTOR_DEVICES; i++, from += MOTORS_OF[i - 1])
        copy(row + SETPOINT[MOTOR_DEVICE[i]], from, MOTORS_OF[i]);
    return 1;
}
