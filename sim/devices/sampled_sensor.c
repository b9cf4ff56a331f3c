/* The simulated sensors of sampled_sensor.py in C. Everything random of a run is drawn before it. */

static void sampled_sensor_read(const struct parameters *p, struct memory *m, const struct kernels *ks,
                                const double *draws, int i, double t, double *frame)
{
    if (!(t >= m->sampled_due[i]))
        return;
    const struct kernel *k = &ks->sampled_measurement[i];
    const double *drawn = draws + (long)p->sampled_first_drawn[i];
    double *last = m->sampled_last + SAMPLED_FIRST_LAST[i];
    int n_last = SAMPLED_FIRST_LAST[i + 1] - SAMPLED_FIRST_LAST[i];
    if (frame[FRAME_NUMBER] == 0)
        copy(last, m->plant_state, n_last);
    for (int a = 0, first = SAMPLED_FIRST_INPUT[i]; a < SAMPLED_FIRST_INPUT[i + 1] - first; a++) {
        int offset = SAMPLED_INPUT[first + a];
        if (offset >= 0)
            k->arg[a] = m->plant_state + offset;
        else if (offset == SAMPLED_WRENCH)
            k->arg[a] = m->plant_wrench;
        else if (offset == SAMPLED_DRAWN)
            k->arg[a] = drawn;
        else if (offset == SAMPLED_LAST)
            k->arg[a] = last;
        else
            k->arg[a] = drawn + SAMPLED_DRAWN_SIZE[i] + SAMPLED_ERROR_SIZE[i] * (long)frame[FRAME_NUMBER];
    }
    k->res[0] = frame + FRAME_VALUES;
    evaluate(k);
    copy(last, m->plant_state, n_last);
    frame[FRAME_T] = t, frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
    m->sampled_due[i] = t + p->sampled_interval[i];
}
