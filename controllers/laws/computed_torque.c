/* Computed torque: computed_torque.py in C. */

static int control(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double after[LAW_MEMORY];
    const struct kernel *k = ks->computed_torque;
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = row + ROW_STATE_U;
    k->arg[2] = row + ROW_REFERENCE_Q, k->arg[3] = row + ROW_REFERENCE_U, k->arg[4] = row + ROW_REFERENCE_A;
    k->arg[5] = p->law_stiffness, k->arg[6] = p->law_damping;
    k->arg[7] = p->law_hold_stiffness, k->arg[8] = p->law_hold_damping;
    k->arg[9] = row + ROW_STATE_DISTURBANCE, k->arg[10] = m->law_memory;
    k->res[0] = row + ROW_DEMAND_ACCELERATION, k->res[1] = row + ROW_DEMAND_FORCE, k->res[2] = row + ROW_DEMAND_WRENCH;
    k->res[3] = after, k->res[4] = after + LAW_MEMORY - 1;
    evaluate(k);
    copy(m->law_memory, after, LAW_MEMORY);
    row[ROW_DEMAND_T] = row[ROW_STATE_T];
    return 1;
}
