/* Measurement update with delayed poses: pose_filter.py in C. */

enum { MOTION = 9, OFFSET = 6, POSE = 3 };

static double *pose_times(struct memory *m, int i) { return m->pose_times + i * 2 * POSE_KEEP; }
static double *pose_motion(struct memory *m, int i, int k) { return m->pose_motions + MOTION * (i * 2 * POSE_KEEP + k); }
static double *pose_offset(struct memory *m, int i, int k) { return m->pose_offsets + OFFSET * (i * POSE_OFFSETS + k); }

static void pose_push(struct memory *m, int i, double t, const double *motion)
{
    double *first = m->pose_first + i * POSE_OFFSETS;
    int stored = (int)m->pose_stored[i];
    if (stored == 2 * POSE_KEEP) { /* keep the newest half */
        copy(pose_times(m, i), pose_times(m, i) + POSE_KEEP, POSE_KEEP);
        copy(pose_motion(m, i, 0), pose_motion(m, i, POSE_KEEP), MOTION * POSE_KEEP);
        for (int k = 0; k < (int)m->pose_n_offsets[i]; k++)
            first[k] -= POSE_KEEP;
        stored = POSE_KEEP;
    }
    pose_times(m, i)[stored] = t;
    copy(pose_motion(m, i, stored), motion, MOTION);
    m->pose_stored[i] = stored + 1;
}

/* Of a pose as reported with it, or else as the data sheet has it. */
static void pose_variance_of(const struct parameters *p, int i, const double *values, double *variance)
{
    for (int k = 0; k < POSE; k++)
        variance[k] = KALMAN_POSE_SIZE[i] == POSE
                          ? p->pose_variance[POSE * i + k]
                          : values[POSE + k] * values[POSE + k] + p->pose_least_variance[0];
}

/* The first pose, of a root at rest. */
static void pose_start(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double t,
                       double exposed, const double *pose)
{
    double motion[MOTION] = {pose[0], pose[1], pose[2]}, age = t - exposed;
    double *covariance = m->pose_covariance + MOTION * i;
    int root = POSE_ROOT[i];
    pose_variance_of(p, i, pose, covariance);
    for (int k = 0; k < POSE; k++) {
        covariance[POSE + k] = 0.0;
        covariance[2 * POSE + k] = p->pose_first_rate_variance[0];
    }
    m->pose_exposed[i] = exposed;
    m->pose_started[i] = 1;
    pose_push(m, i, exposed, motion);
    pose_push(m, i, t, motion);
    copy(m->kalman_x + root, pose, POSE);
    memset(m->kalman_x + KALMAN_N + root, 0, sizeof(double) * POSE);
    const struct kernel *k = &ks->pose_deviation[i];
    k->arg[0] = m->pose_covariance + MOTION * i, k->arg[1] = &age, k->res[0] = m->kalman_deviation + root;
    evaluate(k);
}

/* The measurement update; 0 where the pose is not used. */
static int pose_correct(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double exposed,
                        const double *pose, double gate)
{
    const double *times = pose_times(m, i);
    double *first = m->pose_first + i * POSE_OFFSETS;
    int last = (int)m->pose_stored[i] - 1, n = (int)m->pose_n_offsets[i];
    int at = count_up_to(times, last + 1, exposed) - 1;
    if (at < 0 || exposed <= m->pose_exposed[i])
        return 0;
    int old = 0;
    while (n - old > 1 && first[old + 1] <= at)
        old++;
    if (old) {
        n -= old;
        memmove(first, first + old, sizeof(double) * (size_t)n);
        memmove(pose_offset(m, i, 0), pose_offset(m, i, old), sizeof(double) * OFFSET * (size_t)n);
        m->pose_n_offsets[i] = n;
    }
    int after = at + 1 < last ? at + 1 : last;
    double given[5 + POSE] = {times[at], times[last], exposed, m->pose_exposed[i], gate};
    pose_variance_of(p, i, pose, given + 5);
    double offset[OFFSET], covariance[MOTION], x[KALMAN_X], deviation[KALMAN_N], within;
    const struct kernel *k = &ks->pose_update[i];
    k->arg[0] = pose_motion(m, i, at), k->arg[1] = pose_motion(m, i, after) + 6;
    k->arg[2] = pose_offset(m, i, 0), k->arg[3] = pose_offset(m, i, n - 1);
    k->arg[4] = pose, k->arg[5] = m->pose_covariance + MOTION * i, k->arg[6] = given;
    k->arg[7] = m->kalman_x, k->arg[8] = m->kalman_deviation;
    k->res[0] = offset, k->res[1] = covariance, k->res[2] = x, k->res[3] = deviation;
    k->res[4] = m->pose_innovation + POSE * i, k->res[5] = &within;
    evaluate(k);
    if (!within)
        return 0;
    first[n] = last + 1;
    copy(pose_offset(m, i, n), offset, OFFSET);
    m->pose_n_offsets[i] = n + 1;
    copy(m->pose_covariance + MOTION * i, covariance, MOTION);
    m->pose_exposed[i] = exposed;
    copy(m->kalman_x, x, KALMAN_X);
    copy(m->kalman_deviation, deviation, KALMAN_N);
    return 1;
}
