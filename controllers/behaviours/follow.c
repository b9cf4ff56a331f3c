/* Motion along sampled paths: follow.py in C, with the path of trajectories/sampled.py. */

static void path_follow(const struct parameters *p, struct memory *m, const struct kernels *ks, double t, double *row)
{
    double *q = row + ROW_REFERENCE_Q, *u = row + ROW_REFERENCE_U, *a = row + ROW_REFERENCE_A;
    const double *last = p->knot_motion + (KNOTS - 1) * 3 * N_Q;
    if (t >= p->knot_time[KNOTS - 1]) {
        copy(q, last, N_Q);
        memset(u, 0, sizeof(double) * N_U);
        memset(a, 0, sizeof(double) * N_U);
    } else {
        int k = count_up_to(p->knot_time, KNOTS, t) - 1;
        k = k > 0 ? k : 0;
        double h = p->knot_time[k + 1] - p->knot_time[k], numbers[] = {(t - p->knot_time[k]) / h, h};
        const struct kernel *kernel = ks->sampled_path;
        kernel->arg[0] = k ? p->knot_motion + k * 3 * N_Q : m->path_start; /* the path begins at the estimate */
        kernel->arg[1] = p->knot_motion + (k + 1) * 3 * N_Q, kernel->arg[2] = numbers;
        kernel->res[0] = q, kernel->res[1] = u, kernel->res[2] = a;
        evaluate(kernel);
    }
    for (int i = 0; i < N_Q; i++) {
        if (FOLLOWED[i])
            continue;
        q[i] = m->path_start[i];
        u[i] = a[i] = 0.0;
    }
    row[ROW_REFERENCE_DONE] = t >= p->path_end[0];
}

static int follow_decide(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_STATE_T];
    row[ROW_REFERENCE_T] = t;
    if (!m->path_is_begun[0] && row[ROW_STATE_READY]) {
        copy(m->path_start, row + ROW_STATE_Q, N_Q);
        m->path_began[0] = t;
        m->path_is_begun[0] = 1;
    }
    if (m->path_is_begun[0])
        path_follow(p, m, ks, t - m->path_began[0], row);
    else
        follow_estimate(row);
    take_hold(p, m, t, row);
    return 1;
}
