/* A behaviour that goes on after a pause: resuming.py in C. */

static int resuming_decide(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_STATE_T], tau, q[N_Q + 1], u[N_U + 1], a[N_U + 1], numbers[4], offset[N_Q + 1], done;
    const struct kernel *k = ks->resuming_time;
    k->arg[0] = &t, k->arg[1] = m->resuming_numbers, k->res[0] = &tau;
    evaluate(k);
    row[ROW_STATE_T] = tau;
    int is_decided = RESUMED_BEHAVIOUR(p, m, ks, row);
    row[ROW_STATE_T] = t;
    if (!is_decided)
        return 0;
    k = ks->resuming;
    k->arg[0] = &t, k->arg[1] = m->resuming_numbers, k->arg[2] = m->resuming_offset, k->arg[3] = m->resuming_held;
    k->arg[4] = m->resuming_most, k->arg[5] = row + ROW_REFERENCE_Q, k->arg[6] = row + ROW_REFERENCE_U;
    k->arg[7] = row + ROW_REFERENCE_A, k->arg[8] = row + ROW_REFERENCE_DONE;
    k->res[0] = q, k->res[1] = u, k->res[2] = a, k->res[3] = &done, k->res[4] = numbers, k->res[5] = offset;
    evaluate(k);
    row[ROW_REFERENCE_T] = t, row[ROW_REFERENCE_DONE] = done;
    copy(row + ROW_REFERENCE_Q, q, N_Q), copy(row + ROW_REFERENCE_U, u, N_U), copy(row + ROW_REFERENCE_A, a, N_U);
    copy(m->resuming_numbers, numbers, 4), copy(m->resuming_offset, offset, N_Q);
    return 1;
}
