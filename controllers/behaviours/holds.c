/* Set points of grips over time: holds.py in C. */

static void take_hold(const struct parameters *p, struct memory *m, double t, double *row)
{
    int now = (int)m->hold_now[0];
    while (now + 1 < HOLDS && p->hold_from[now + 1] <= t + SAME_TIME)
        now++;
    m->hold_now[0] = now;
    copy(row + ROW_REFERENCE_DONE + 1, p->hold_setpoints + now * HOLD_SIZE, HOLD_SIZE);
}

/* Until the state is ready, the reference is the estimate. */
static void follow_estimate(double *row)
{
    for (int i = 0; i < N_Q; i++)
        row[ROW_REFERENCE_Q + i] = isnan(row[ROW_STATE_Q + i]) ? 0.0 : row[ROW_STATE_Q + i];
    memset(row + ROW_REFERENCE_U, 0, sizeof(double) * N_U);
    memset(row + ROW_REFERENCE_A, 0, sizeof(double) * N_U);
    row[ROW_REFERENCE_DONE] = 0;
}
