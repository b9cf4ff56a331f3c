/* Motion through waypoints: waypoints.py in C, with the paths of trajectories/. */

/* The path from q at time t on, as WaypointPath builds it. */
static void waypoints_begin(const struct parameters *p, struct memory *m, double t, const double *q)
{
    const double *here = q;
    for (int leg = 0; leg < LEGS; leg++) {
        double *start = m->leg_start + leg * N_Q, *end = m->leg_end + leg * N_Q;
        for (int i = 0; i < N_Q; i++) {
            double target = p->leg_target[leg * N_Q + i];
            start[i] = here[i];
            end[i] = isnan(target) ? here[i] : target;
            m->leg_amplitude[leg * N_Q + i] = end[i] - start[i];
        }
        here = end;
    }
    m->path_began[0] = t;
    m->path_is_begun[0] = 1;
}

static void waypoints_follow(const struct parameters *p, struct memory *m, const struct kernels *ks, double t,
                             double *row)
{
    double *q = row + ROW_REFERENCE_Q, *u = row + ROW_REFERENCE_U, *a = row + ROW_REFERENCE_A;
    int leg = count_up_to(p->leg_begins, LEGS, t) - 1;
    leg = leg > 0 ? leg : 0;
    const double *start = m->leg_start + leg * N_Q, *end = m->leg_end + leg * N_Q;
    double tau = (t - p->leg_begins[leg]) / p->leg_duration[leg];
    memset(u, 0, sizeof(double) * N_U);
    memset(a, 0, sizeof(double) * N_U);
    if (tau <= 0.0) {
        copy(q, start, N_Q);
    } else if (tau >= 1.0) {
        copy(q, end, N_Q);
    } else {
        double numbers[] = {tau, p->leg_duration[leg], p->leg_ramp[leg]};
        const struct kernel *k = LEG_IS_TRAPEZOIDAL[leg] ? ks->trapezoidal : ks->minimum_jerk;
        k->arg[0] = start, k->arg[1] = m->leg_amplitude + leg * N_Q, k->arg[2] = numbers;
        k->res[0] = q, k->res[1] = u, k->res[2] = a;
        evaluate(k);
    }
    if (PATH_STAYS) {
        memset(u, 0, sizeof(double) * N_U);
        memset(a, 0, sizeof(double) * N_U);
    }
    row[ROW_REFERENCE_DONE] = t >= p->path_end[0];
}

static int waypoints_decide(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_STATE_T];
    row[ROW_REFERENCE_T] = t;
    if (!m->path_is_begun[0] && row[ROW_STATE_READY])
        waypoints_begin(p, m, t, row + ROW_STATE_Q);
    if (m->path_is_begun[0])
        waypoints_follow(p, m, ks, t - m->path_began[0], row);
    else
        follow_estimate(row);
    take_hold(p, m, t, row);
    return 1;
}
