/* A state machine between its events, when its plan holds: state_machine.py in C. */

/* Returns 0, with nothing changed, where conditions have to be looked at or the state has no plan. */
static int state_machine_decide(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_STATE_T];
    (void)p;
    if (!row[ROW_STATE_READY] || !(t < m->machine_wakes_at[0]))
        return 0;
#if MACHINE_GRIPS
    if (memcmp(row + ROW_STATE_HOLDING, m->machine_report, sizeof(double) * MACHINE_GRIPS))
        return 0;
#endif
    const struct kernel *k = ks->task_plan;
    k->arg[0] = row + ROW_STATE_T, k->arg[1] = row + ROW_STATE_Q, k->arg[2] = row + ROW_STATE_U;
    k->arg[3] = m->machine_plan;
    k->res[0] = row + ROW_REFERENCE_Q, k->res[1] = row + ROW_REFERENCE_U, k->res[2] = row + ROW_REFERENCE_A;
    k->res[3] = row + ROW_REFERENCE_TASK;
    evaluate(k);
    row[ROW_REFERENCE_T] = t;
    row[ROW_REFERENCE_DONE] = m->machine_done[0];
    copy(row + ROW_REFERENCE_DONE + 1, m->machine_setpoints, MACHINE_SETPOINTS);
    return 1;
}
