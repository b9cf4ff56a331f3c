/* Floating roots from all their sensors: root_filter.py in C. */

enum { POSE = 3, STEP = 6, ROOT_ROOM = 2 * ROOT_KEEP };
/* Columns of a checkpoint, and of a measurement; both in the order of their times. */
enum {
    CHECKPOINT_T,
    CHECKPOINT_STEP,
    CHECKPOINT_Z = CHECKPOINT_STEP + STEP,
    CHECKPOINT_P = CHECKPOINT_Z + ROOT_Z,
    CHECKPOINT = CHECKPOINT_P + ROOT_P
};
enum { EVENT_T, EVENT_SENSOR, EVENT_VALUES, EVENT = EVENT_VALUES + ROOT_VALUES };

static double *root_checkpoint(struct memory *m, int r, int j)
{
    return m->root_checkpoints + CHECKPOINT * (r * ROOT_ROOM + j);
}
static double *root_x(struct memory *m, int r, int j) { return m->root_x + 2 * ROOT_N * (r * ROOT_ROOM + j); }
static double *root_event(struct memory *m, int r, int e) { return m->root_events + EVENT * (r * ROOT_EVENTS + e); }

/* How many of n rows are before t, from the end, where t is; `or_at`: or at it. */
static int root_count(const double *rows, int width, int n, double t, int or_at)
{
    while (n > 0 && !(rows[width * (n - 1)] < t || (or_at && rows[width * (n - 1)] == t)))
        n--;
    return n;
}

/* Move n measurements of a root from one place in their list to another. */
static void root_move_events(struct memory *m, int r, int to, int from, int n)
{
    memmove(root_event(m, r, to), root_event(m, r, from), sizeof(double) * EVENT * (size_t)n);
}

/* Drop the older half of the checkpoints, and the measurements before the others. */
static int root_forget(struct memory *m, int r)
{
    int n = (int)m->root_n_events[r];
    copy(root_checkpoint(m, r, 0), root_checkpoint(m, r, ROOT_KEEP), CHECKPOINT * ROOT_KEEP);
    copy(root_x(m, r, 0), root_x(m, r, ROOT_KEEP), 2 * ROOT_N * ROOT_KEEP);
    m->root_valid[r] -= ROOT_KEEP;
    int old = root_count(root_event(m, r, 0), EVENT, n, root_checkpoint(m, r, 0)[CHECKPOINT_T], 1);
    root_move_events(m, r, 0, old, n - old);
    m->root_n_events[r] = n - old;
    return ROOT_KEEP;
}

static void root_replay(const struct parameters *p, struct memory *m, const struct kernels *ks, int r, double gate);

static void root_push(const struct parameters *p, struct memory *m, const struct kernels *ks, int r, double t,
                      const double *step, const double *x)
{
    int stored = (int)m->root_stored[r];
    if (stored == ROOT_ROOM) {
        if (m->root_valid[r] < ROOT_KEEP) /* in a pause of the loop, in which nothing was measured */
            root_replay(p, m, ks, r, INFINITY);
        stored = root_forget(m, r);
    }
    double *checkpoint = root_checkpoint(m, r, stored);
    checkpoint[CHECKPOINT_T] = t;
    copy(checkpoint + CHECKPOINT_STEP, step, STEP);
    copy(root_x(m, r, stored), x, 2 * ROOT_N);
    m->root_stored[r] = stored + 1;
}

/* Of a frame as reported with it, or else as the data sheet has it. */
static const double *root_variance_of(const struct parameters *p, int sensor, const double *values, double *variance)
{
    int rows = ROOT_SENSOR_ROWS[sensor];
    if (ROOT_SENSOR_SIZE[sensor] == rows)
        return p->root_variance + ROOT_VALUES * sensor;
    for (int i = 0; i < rows; i++)
        variance[i] = values[rows + i] * values[rows + i] + p->root_least_variance[0];
    return variance;
}

/* x of the model with the joints as their sensors say: with their offsets. */
static const double *root_reported(const struct memory *m, const double *x, double *reported)
{
    if (!ROOT_OFFSETS)
        return x;
    copy(reported, x, 2 * ROOT_N);
    for (int i = 0; i < ROOT_OFFSETS; i++)
        reported[ROOT_OFFSET_JOINT[i]] += m->root_offset[i];
    return reported;
}

/* The first pose, of a root at rest. */
static void root_start(const struct parameters *p, struct memory *m, const struct kernels *ks, int r, int sensor,
                       double t, const double *frame, const double *x)
{
    double variance[ROOT_VALUES], rest[STEP] = {0}, reported[2 * ROOT_N + 1], *first = root_checkpoint(m, r, 0);
    const struct kernel *k = &ks->root_starter[sensor];
    x = root_reported(m, x, reported);
    k->arg[0] = x, k->arg[1] = frame + FRAME_VALUES;
    k->arg[2] = root_variance_of(p, sensor, frame + FRAME_VALUES, variance), k->arg[3] = p->root_heading + r;
    k->res[0] = first + CHECKPOINT_Z, k->res[1] = first + CHECKPOINT_P;
    evaluate(k);
    m->root_exposed[sensor] = frame[FRAME_T];
    m->root_started[r] = m->root_stored[r] = m->root_used[r] = 1;
    m->root_refused[r] = 0;
    m->root_refused_at[r] = INFINITY;
    first[CHECKPOINT_T] = frame[FRAME_T];
    copy(root_x(m, r, 0), x, 2 * ROOT_N);
    m->root_valid[r] = m->root_n_events[r] = 0;
    root_push(p, m, ks, r, t, rest, x);
}

/* Put a new frame among the measurements; the first pose starts the filter. */
static void root_take(const struct parameters *p, struct memory *m, const struct kernels *ks, int sensor, double t,
                      const double *frame, const double *x)
{
    int r = ROOT_SENSOR_ROOT[sensor], size = ROOT_SENSOR_SIZE[sensor];
    if (!(frame[FRAME_NUMBER] > m->root_number[sensor]) || (ROOT_NEEDS_JOINTS[sensor] && !m->kalman_started[0]))
        return;
    m->root_number[sensor] = frame[FRAME_NUMBER];
    double sum = 0, exposed = frame[FRAME_T];
    for (int i = 0; i < size; i++)
        sum += frame[FRAME_VALUES + i];
    if (!(exposed <= t) || !isfinite(sum))
        return;
    if (!m->root_started[r]) {
        if (ROOT_STARTS[sensor])
            root_start(p, m, ks, r, sensor, t, frame, x);
        return;
    }
    int before = root_count(root_checkpoint(m, r, 0), CHECKPOINT, (int)m->root_stored[r], exposed, 0) - 1;
    if (before < 0 || exposed <= m->root_exposed[sensor])
        return;
    int n = (int)m->root_n_events[r], at = root_count(root_event(m, r, 0), EVENT, n, exposed, 1);
    root_move_events(m, r, at + 1, at, n - at);
    double *event = root_event(m, r, at);
    event[EVENT_T] = exposed;
    event[EVENT_SENSOR] = -1.0 - (sensor - ROOT_SENSOR_FIRST[r]); /* not judged yet */
    copy(event + EVENT_VALUES, frame + FRAME_VALUES, size);
    m->root_n_events[r] = n + 1;
    if (before < m->root_valid[r])
        m->root_valid[r] = before;
}

/* z and P, here and there: a function must not write what it reads. */
struct root_state {
    double z[2][ROOT_Z + ROOT_P], *now, *next;
};

static void root_swap(struct root_state *s)
{
    double *now = s->now;
    s->now = s->next, s->next = now;
}

static void root_propagate(const struct kernels *ks, int r, struct root_state *s, const double *numbers)
{
    const struct kernel *k = &ks->root_propagation[r];
    k->arg[0] = s->now, k->arg[1] = s->now + ROOT_Z, k->arg[2] = numbers;
    k->res[0] = s->next, k->res[1] = s->next + ROOT_Z;
    evaluate(k);
    root_swap(s);
}

/* Measurement update by measurement e, unless it is new and beyond the gate: then it is dropped. The next one. */
static int root_judge(const struct parameters *p, struct memory *m, const struct kernels *ks, int r, int e,
                      struct root_state *s, int j, double gate)
{
    double *event = root_event(m, r, e), exposed = event[EVENT_T], *values = event + EVENT_VALUES;
    int code = (int)event[EVENT_SENSOR], is_new = code < 0, local = is_new ? -1 - code : code;
    int sensor = ROOT_SENSOR_FIRST[r] + local, rows = ROOT_SENSOR_ROWS[sensor];
    double variance[ROOT_VALUES], sigmas[ROOT_VALUES], within, limit = is_new ? gate : INFINITY;
    const struct kernel *k = &ks->root_update[sensor];
    const double *checkpoint = root_checkpoint(m, r, j);
    double since = exposed - checkpoint[CHECKPOINT_T];
    k->arg[0] = s->now, k->arg[1] = s->now + ROOT_Z, k->arg[2] = root_x(m, r, j), k->arg[3] = &since;
    k->arg[4] = checkpoint + CHECKPOINT_STEP, k->arg[5] = m->kalman_deviation, k->arg[6] = values;
    k->arg[7] = root_variance_of(p, sensor, values, variance), k->arg[8] = &limit;
    k->res[0] = s->next, k->res[1] = s->next + ROOT_Z, k->res[2] = sigmas, k->res[3] = &within;
    evaluate(k);
    if (is_new) {
        copy(m->root_innovation + ROOT_VALUES * sensor, sigmas, rows);
        if (ROOT_STARTS[sensor] && within) {
            m->root_used[r] += 1.0;
            m->root_refused_at[r] = INFINITY;
        } else if (ROOT_STARTS[sensor]) {
            if (exposed < m->root_refused_at[r])
                m->root_refused_at[r] = exposed;
            int lasts = exposed - m->root_refused_at[r] > p->root_patience[r];
            m->root_refused[r] = lasts ? m->root_used[r] + 1.0 : m->root_refused[r] + 1.0;
        }
        if (!within) {
            int n = (int)m->root_n_events[r];
            root_move_events(m, r, e, e + 1, n - 1 - e);
            m->root_n_events[r] = n - 1;
            if (ROOT_REDUNDANT[sensor])
                m->root_exposed[sensor] = exposed;
            return e;
        }
        event[EVENT_SENSOR] = local;
        m->root_exposed[sensor] = exposed;
    }
    root_swap(s);
    return e + 1;
}

static void root_replay(const struct parameters *p, struct memory *m, const struct kernels *ks, int r, double gate)
{
    int valid = (int)m->root_valid[r], stored = (int)m->root_stored[r];
    double *checkpoint = root_checkpoint(m, r, valid), at = checkpoint[CHECKPOINT_T];
    struct root_state s = {.now = s.z[0], .next = s.z[1]};
    copy(s.now, checkpoint + CHECKPOINT_Z, ROOT_Z + ROOT_P);
    int e = root_count(root_event(m, r, 0), EVENT, (int)m->root_n_events[r], at, 1);
    for (int j = valid + 1; j < stored; j++) {
        checkpoint = root_checkpoint(m, r, j);
        const double t = checkpoint[CHECKPOINT_T], *step = checkpoint + CHECKPOINT_STEP;
        double numbers[1 + STEP] = {0, step[0], step[1], step[2]};
        /* Up to each measurement, and to the end, where the rate jumps before what was measured then. */
        for (int has_ended = 0, is_event = 1; is_event || !has_ended;) {
            is_event = e < (int)m->root_n_events[r] && root_event(m, r, e)[EVENT_T] <= t;
            double to = is_event ? root_event(m, r, e)[EVENT_T] : t;
            if (!has_ended) {
                if ((has_ended = to == t))
                    copy(numbers + 1 + POSE, step + POSE, POSE);
                numbers[0] = to - at;
                at = to;
                root_propagate(ks, r, &s, numbers);
            }
            if (is_event)
                e = root_judge(p, m, ks, r, e, &s, j, gate);
        }
        copy(checkpoint + CHECKPOINT_Z, s.now, ROOT_Z + ROOT_P);
    }
    m->root_valid[r] = stored - 1;
}

/* Compute every root anew from the first checkpoint that is not valid, and write it into the state. */
static void root_finish(const struct parameters *p, struct memory *m, const struct kernels *ks, double gate,
                        int has_settled)
{
    for (int r = 0; r < ROOTS; r++) {
        if (!m->root_started[r])
            continue;
        root_replay(p, m, ks, r, m->root_opened[r] && !has_settled ? INFINITY : gate);
        if (!has_settled && m->root_refused[r] > m->root_used[r]) {
            m->root_started[r] = 0;
            m->root_opened[r] = 1;
        }
        int last = (int)m->root_stored[r] - 1, at = ROOT_FIRST[r];
        const double *z = root_checkpoint(m, r, last) + CHECKPOINT_Z, *variances = z + ROOT_Z;
        const double *offset = z + ROOT_N_Z[r] - (ROOT_OFFSET_FIRST[r + 1] - ROOT_OFFSET_FIRST[r]);
        for (int i = ROOT_OFFSET_FIRST[r]; i < ROOT_OFFSET_FIRST[r + 1]; i++, offset++) {
            int joint = ROOT_OFFSET_JOINT[i];
            double *deviation = m->kalman_deviation + joint;
            m->kalman_x[joint] += m->root_offset[i] - *offset;
            m->root_offset[i] = *offset;
            *deviation = sqrt(*deviation * *deviation + variances[ROOT_OFFSET_VARIANCE[i]]);
        }
        if (at < 0)
            continue;
        const int *diagonal = ROOT_DIAGONAL + 2 * POSE * r;
        double *rate = m->kalman_x + ROOT_N + at;
        for (int i = 0; i < POSE; i++) {
            m->kalman_correction[at + i] += z[POSE + i] - rate[i];
            m->kalman_x[at + i] = z[i];
            rate[i] = z[POSE + i];
            m->kalman_deviation[at + i] = sqrt(variances[diagonal[i]]);
            m->kalman_deviation[ROOT_N + at + i] = sqrt(variances[diagonal[POSE + i]]);
        }
    }
}

/* Biases of all sensors and joints, root after root. */
static void root_biases(struct memory *m, double *biases)
{
    for (int r = 0; r < ROOTS; r++) {
        int last = (int)m->root_stored[r] - 1, n = ROOT_N_Z[r] - ROOT_FIRST_BIAS[r];
        copy(biases, root_checkpoint(m, r, last > 0 ? last : 0) + CHECKPOINT_Z + ROOT_FIRST_BIAS[r], n);
        biases += n;
    }
}
