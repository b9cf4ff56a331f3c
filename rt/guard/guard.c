/* The guard step: guard.py in C, as far as a command passes. Everything else is decided in Python. */

/* 1 where the command passes, with the verdict in the row; 0 where Python has to decide, with the memory as it was. */
static int guard(struct memory *m, const struct kernels *ks, double *row)
{
    if (!row[ROW_STATE_READY])
        return 0;
    double after[GUARD_MEMORY + 1];
    const double *given[] = {
        row + ROW_SAMPLE_T, row + ROW_STATE_AGES, row + ROW_STATE_Q, row + ROW_STATE_U, row + ROW_STATE_INNOVATION,
        row + ROW_STATE_BIAS, row + ROW_STATE_CORRECTION, row + ROW_STATE_DISTURBANCE, row + ROW_STATE_FAULTS,
#ifdef ROW_STATE_PAYLOAD
        row + ROW_STATE_PAYLOAD,
#else
        row,
#endif
        row + ROW_REFERENCE_Q, row + ROW_REFERENCE_U, row + ROW_REFERENCE_A,
        row + ROW_DEMAND_ACCELERATION, row + ROW_DEMAND_FORCE, row + ROW_DEMAND_WRENCH, row + ROW_DEMAND_DISTRIBUTION,
        row + ROW_COMMAND_T + 1, row + ROW_COMMAND_THRUST, m->guard_memory, m->guard_waits,
    };
    const struct kernel *k = ks->guard_checked;
    memcpy(k->arg, given, sizeof given);
    k->res[0] = after;
    evaluate(k);
    if (!after[0])
        return 0;
    copy(m->guard_memory, after + 1, GUARD_MEMORY);
    m->guard_waits[0] = 0;
    row[ROW_VERDICT_T] = row[ROW_COMMAND_T];
    copy(row + ROW_VERDICT_COMMAND_T, row + ROW_COMMAND_T, COMMAND_SIZE);
    row[ROW_VERDICT_REASON] = REASON_PASSED;
    row[ROW_VERDICT_SUBJECT] = 0;
    row[ROW_VERDICT_VALUE] = NAN;
    row[ROW_VERDICT_LIMIT] = NAN;
    row[ROW_VERDICT_STOP] = 0;
    copy(m->guard_passed, row + ROW_COMMAND_T + 1, ACTUATOR_VALUES);
    return 1;
}
