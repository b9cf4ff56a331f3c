/* The guard step: guard.py in C, as far as a command passes. Everything else is decided in Python. */

static int frames_are_usable(const struct memory *m, const double *row)
{
    for (int i = 0; i < SENSORS; i++) {
        const double *frame = row + SENSOR_FRAME[i];
        if (!(frame[FRAME_STATUS] >= STATUS_OK && frame[FRAME_STATUS] <= STATUS_SILENT))
            return 0;
        if (m->guard_waits[0] && frame[FRAME_NUMBER] == 0)
            return 0;
    }
    for (int i = 0; i < ACTUATORS; i++) {
        const double *frame = row + APPLIED_FRAME[i];
        if (frame[FRAME_STATUS] != STATUS_OK && (frame[FRAME_STATUS] != STATUS_NO_FRAME || frame[FRAME_NUMBER] != 0))
            return 0;
    }
    return 1;
}

/* 1 where the command passes, with the verdict in the row; 0 where Python has to decide, with the memory as it was. */
static int guard(struct memory *m, const struct kernels *ks, double *row)
{
    if (!row[ROW_STATE_READY] || !frames_are_usable(m, row))
        return 0;
    double measured[SENSOR_VALUES + 1], stamps[1 + 2 * SENSORS], applied[ACTUATOR_VALUES + 1];
    double *to = measured;
    stamps[0] = row[ROW_SAMPLE_T];
    for (int i = 0; i < SENSORS; i++, to += SENSOR_SIZE[i - 1]) {
        const double *frame = row + SENSOR_FRAME[i];
        copy(to, frame + FRAME_VALUES, SENSOR_SIZE[i]);
        stamps[1 + 2 * i] = frame[FRAME_T];
        stamps[2 + 2 * i] = frame[FRAME_NUMBER];
    }
    to = applied;
    for (int i = 0; i < ACTUATORS; i++, to += ACTUATOR_SIZE[i - 1])
        copy(to, row + APPLIED_FRAME[i] + FRAME_VALUES, ACTUATOR_SIZE[i]);

    double after[GUARD_MEMORY + 1];
    const double *given[] = {
        measured, stamps, applied,
        row + ROW_STATE_AGES, row + ROW_STATE_Q, row + ROW_STATE_U, row + ROW_STATE_INNOVATION,
        row + ROW_STATE_BIAS, row + ROW_STATE_CORRECTION, row + ROW_STATE_DISTURBANCE, row + ROW_STATE_FAULTS,
#ifdef ROW_STATE_PAYLOAD
        row + ROW_STATE_PAYLOAD,
#else
        row,
#endif
        row + ROW_REFERENCE_Q, row + ROW_REFERENCE_U, row + ROW_REFERENCE_A,
        row + ROW_DEMAND_ACCELERATION, row + ROW_DEMAND_FORCE, row + ROW_DEMAND_WRENCH, row + ROW_DEMAND_DISTRIBUTION,
        row + ROW_COMMAND_T + 1, row + ROW_COMMAND_THRUST, m->guard_memory,
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
