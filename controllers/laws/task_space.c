/* Computed torque in task space: task_space.py in C, for ticks in which no actuator is at its bound. */

/* Returns 0, with nothing changed, where a bound is active and the programme needs its solver. */
static int task_space_control(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double x[LAW_ACTUATORS], upper[LAW_ACTUATORS], lower[LAW_ACTUATORS];
    const double *task = row + ROW_REFERENCE_TASK;
    double set = m->law_set[0];
#if LAW_GRIPS
    set = equal_row(p->law_sets, LAW_SETS, LAW_GRIPS, row + ROW_STATE_HOLDING, set);
#endif
    const struct kernel *k = ks->task_space + (int)set;
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = row + ROW_STATE_U;
    k->arg[2] = row + ROW_STATE_DISTURBANCE;
    k->arg[3] = row + ROW_REFERENCE_Q, k->arg[4] = row + ROW_REFERENCE_U, k->arg[5] = row + ROW_REFERENCE_A;
    k->arg[6] = task, k->arg[7] = p->law_stiffness, k->arg[8] = p->law_damping;
    k->arg[9] = p->law_target_gains;
    k->res[0] = x, k->res[1] = row + ROW_DEMAND_ACCELERATION, k->res[2] = row + ROW_DEMAND_FORCE;
    for (int i = 3; i < 8; i++)
        k->res[i] = 0; /* the programme itself */
    evaluate(k);
    for (int i = 0; i < LAW_ACTUATORS; i++)
        upper[i] = p->law_upper[i], lower[i] = -p->law_upper[i];
    for (int i = 0; i < LAW_WHEELS; i++) {
        double rate = row[ROW_STATE_U + LAW_WHEEL_VELOCITY[i]], limit = p->law_wheel_limit[i];
        if (rate >= limit)
            upper[LAW_WHEEL[i]] = 0;
        if (rate <= -limit)
            lower[LAW_WHEEL[i]] = 0;
    }
    for (int i = 0; i < LAW_WRENCHES; i++) {
        int has_task = 0;
        for (int j = LAW_ROOT[i]; j < LAW_ROOT[i] + LAW_WRENCH_SIZE[i]; j++)
            has_task |= task[j] != 0;
        for (int j = 0; j < LAW_WRENCH_SIZE[i] && !has_task; j++) /* a root without a task coasts */
            upper[LAW_WRENCH[i] + j] = lower[LAW_WRENCH[i] + j] = 0;
    }
    for (int i = 0; i < LAW_ACTUATORS; i++)
        if (!(lower[i] <= x[i] && x[i] <= upper[i]))
            return 0;
    m->law_set[0] = set;
    memset(row + ROW_DEMAND_WRENCH, 0, sizeof(double) * LAW_N_WRENCH);
    for (int i = 0; i < LAW_WRENCHES; i++)
        copy(row + ROW_DEMAND_WRENCH + LAW_WRENCH_START[i], x + LAW_WRENCH[i], LAW_WRENCH_SIZE[i]);
    row[ROW_DEMAND_T] = row[ROW_STATE_T];
    return 1;
}
