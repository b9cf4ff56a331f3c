/* Reaching and carrying: reach_and_carry.py in C. Both laws stand before this file. */

/* Returns 0 where a grasp begins, whose integrals Python sets to zero, and where the law in charge needs its solver. */
static int reach_and_carry_control(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    int holds = 1, has_weight = 0;
    for (int i = 0; i < CARRY_GRIPS; i++)
        holds &= row[ROW_STATE_HOLDING + CARRY_GRIP[i]] != 0;
    for (int i = 0; i < CARRY_WEIGHTS; i++)
        has_weight |= row[ROW_REFERENCE_TASK + CARRY_WEIGHT + i] != 0;
    if (holds && has_weight)
        return m->carries[0] && object_impedance_control(p, m, ks, row);
    if (!task_space_step(p, m, ks, row))
        return 0;
    copy(row + ROW_DEMAND_DISTRIBUTION, p->carry_idle, CARRY_IDLE);
    m->carries[0] = 0;
    return 1;
}
