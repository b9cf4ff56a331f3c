/* The Kalman estimator: kalman.py in C. */

static int kalman_is_finite(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return isfinite(sum);
}

static struct bank kalman_bank(const struct parameters *p, struct memory *m, const struct kernels *k, int i)
{
    return (struct bank){&k->kalman_command[i], &k->kalman_move[i], p->kalman_timing + 3 * i,
                         m->kalman_banks + KALMAN_BANK[i], KALMAN_VALVES_OF[i], KALMAN_BANK_SIZE[i]};
}

/* Predict under the contact set that the grips report; under the last one, where they report none of them. */
static void kalman_follow_grips(const struct parameters *p, struct memory *m, const double *row)
{
#if KALMAN_GRIPS
    const double *reported = row + APPLIED_FRAME[KALMAN_GRIPS_OF] + FRAME_VALUES;
    double set = equal_row(p->kalman_sets, KALMAN_SETS, KALMAN_GRIPS, reported, -1.0);
    if (set >= 0)
        m->kalman_set[0] = set, copy(m->kalman_holding, reported, KALMAN_GRIPS);
#endif
}

/* Thrust by that of the data sheet at the measured supply pressure; 1 before the first measurement. */
static double kalman_thrust_ratio(const double *frame, double full)
{
    double ratio = frame[FRAME_VALUES] / full;
    if (!frame[FRAME_NUMBER] || !kalman_is_finite(frame + FRAME_VALUES, 1))
        return 1;
    ratio = ratio > 0 ? ratio : 0;
    return ratio < 1 ? ratio : 1;
}

/* Predict over one period, to time t; with `updates`, also the measurement update by joint sensors. */
static void kalman_predict(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *row,
                           double t, double gate, int updates)
{
    kalman_follow_grips(p, m, row);
    double torque[KALMAN_TORQUES + 1], opening[KALMAN_OPENINGS + 1], measured[KALMAN_MEASURED + 1];
    double numbers[KALMAN_JOINTS + 3], *to = torque;
    for (int i = 0; i < KALMAN_MOTORS; i++, to += KALMAN_TORQUES_OF[i - 1])
        copy(to, row + APPLIED_FRAME[KALMAN_MOTOR[i]] + FRAME_VALUES, KALMAN_TORQUES_OF[i]);
    to = opening;
    for (int i = 0; i < KALMAN_BANKS; i++, to += KALMAN_VALVES_OF[i - 1]) {
        const double *applied = row + APPLIED_FRAME[KALMAN_THRUSTERS[i]];
        if (KALMAN_THROTTLES) {
            copy(to, applied + FRAME_VALUES, KALMAN_VALVES_OF[i]);
        } else {
            struct bank bank = kalman_bank(p, m, ks, i);
            bank_command(&bank, applied[FRAME_T], applied + FRAME_VALUES);
            bank_mean(&bank, t - p->period[0], t, to);
        }
        take_shared_supply(p->kalman_drop[i], to, KALMAN_VALVES_OF[i]);
        if (KALMAN_PRESSURE[i] >= 0) {
            double ratio = kalman_thrust_ratio(row + SENSOR_FRAME[KALMAN_PRESSURE[i]], p->kalman_full_pressure[i]);
            m->kalman_supply[i] = ratio;
            for (int k = 0; k < KALMAN_VALVES_OF[i]; k++)
                to[k] *= ratio;
        }
    }
    to = measured;
    for (int i = 0; i < KALMAN_JOINTS; i++, to += KALMAN_JOINT_SIZE[i - 1]) {
        const double *frame = row + SENSOR_FRAME[KALMAN_JOINT[i]];
        for (int k = 0; k < KALMAN_JOINT_SIZE[i]; k++)
            to[k] = frame[FRAME_VALUES + k] - m->joint_offset[to - measured + k];
        /* The first frame of a sensor sets the state instead, after the prediction. */
        int is_used = updates && 0 < m->joint_number[i] && m->joint_number[i] < frame[FRAME_NUMBER];
        double age = (t - frame[FRAME_T]) / p->period[0];
        age = age > 0 ? age : 0;
        numbers[i] = is_used ? 1 + (age < p->kalman_oldest[0] ? age : p->kalman_oldest[0]) : 0;
    }
    numbers[KALMAN_JOINTS] = p->kalman_gate[0];
    numbers[KALMAN_JOINTS + 1] = gate;
    numbers[KALMAN_JOINTS + 2] = t >= m->kalman_observe_from[0];

    double correction[KALMAN_N], unknown[KALMAN_UNKNOWN], x[KALMAN_X], covariances[KALMAN_COVARIANCES + 1];
    double steps[STEP * ROOTS + 1], reported[2 * KALMAN_N + 1];
    const struct kernel *k = ks->kalman_prediction + (int)m->kalman_set[0];
    k->arg[0] = m->kalman_x, k->arg[1] = torque, k->arg[2] = opening, k->arg[3] = measured, k->arg[4] = numbers;
    k->arg[5] = m->joint_covariance, k->arg[6] = m->kalman_correction, k->arg[7] = m->kalman_unknown;
    k->res[0] = x, k->res[1] = m->kalman_deviation, k->res[2] = covariances, k->res[3] = m->kalman_innovations;
    k->res[4] = correction, k->res[5] = steps, k->res[6] = unknown, k->res[7] = m->kalman_disturbance;
    k->res[8] = m->kalman_payload;
    evaluate(k);
    copy(m->kalman_correction, correction, KALMAN_N);
    copy(m->kalman_unknown, unknown, KALMAN_UNKNOWN);
    copy(m->kalman_x, x, KALMAN_X);
    copy(m->joint_covariance, covariances, KALMAN_COVARIANCES);
    for (int r = 0; r < ROOTS; r++)
        if (m->root_started[r])
            root_push(p, m, ks, r, t, steps + STEP * r, root_reported(m, m->kalman_x, reported));
}

/* Start x at the first frame of a joint sensor, the rate filters settled. */
static void kalman_begin_joint(struct memory *m, int i, double age, const double *values)
{
    int first_rate = KALMAN_JOINT_FIRST_RATE[i], extra = KALMAN_JOINT_EXTRA[i];
    for (int k = KALMAN_FIRST_KNOWN[i]; k < KALMAN_FIRST_KNOWN[i + 1]; k++) {
        double rate = values[first_rate + KALMAN_KNOWN_INDEX[k]];
        if (KALMAN_KNOWN_BEGINS[k]) {
            if (first_rate)
                m->kalman_x[KALMAN_KNOWN_ANGLE[k]] = values[KALMAN_KNOWN_INDEX[k]] + age * rate;
            m->kalman_x[KALMAN_N + KALMAN_KNOWN_ANGLE[k]] = rate;
        }
        for (int e = 0; e < KALMAN_JOINT_N_EXTRA[i]; e++)
            m->kalman_x[extra++] = rate;
    }
}

static int kalman_estimate(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_SAMPLE_T];
    int has_settled = t >= m->kalman_settled_at[0];
    double gate = has_settled ? p->kalman_gate[0] : INFINITY;
    double period = p->period[0], *ages = row + ROW_STATE_AGES;
    if (m->kalman_started[0]) {
        for (int k = (int)rint((t - m->kalman_t[0]) / period) - 1; k > 0; k--)
            kalman_predict(p, m, ks, row, t - k * period, gate, 0);
        kalman_predict(p, m, ks, row, t, gate, 1);
    }
    for (int i = 0; i < KALMAN_MODES; i++) {
        m->kalman_x[KALMAN_MODE[i]] = p->kalman_amplitude[i];
        m->kalman_x[KALMAN_N + KALMAN_MODE[i]] = p->kalman_rate[i];
    }
    m->kalman_t[0] = t;
    m->kalman_started[0] = 1;
    int ready = 1;
    for (int i = 0; i < SENSORS; i++)
        ages[i] = t - row[SENSOR_FRAME[i] + FRAME_T];
    const double *innovations = m->kalman_innovations;
    for (int i = 0; i < KALMAN_JOINTS; i++) {
        const double *frame = row + SENSOR_FRAME[KALMAN_JOINT[i]];
        int size = KALMAN_JOINT_SIZE[i];
        if (frame[FRAME_NUMBER] > m->joint_number[i] && kalman_is_finite(frame + FRAME_VALUES, size)) {
            if (m->joint_number[i])
                copy(m->kalman_innovation + KALMAN_JOINT_SIGNAL[i], innovations, size);
            else
                kalman_begin_joint(m, i, t > frame[FRAME_T] ? t - frame[FRAME_T] : 0, frame + FRAME_VALUES);
            m->joint_number[i] = frame[FRAME_NUMBER];
            m->joint_taken[i] = frame[FRAME_T];
        } else if (!m->joint_number[i]) {
            m->kalman_started[0] = ready = 0; /* nothing is predicted from a pose that was never measured */
        }
        ages[KALMAN_JOINT[i]] = t - m->joint_taken[i];
        innovations += size;
    }
    for (int i = 0; i < ROOT_SENSORS; i++)
        root_take(p, m, ks, i, t, row + SENSOR_FRAME[ROOT_SENSOR[i]], m->kalman_x);
    root_finish(p, m, ks, p->kalman_gate[0], has_settled);
    for (int i = 0; i < ROOT_SENSORS; i++) {
        copy(m->kalman_innovation + KALMAN_ROOT_SIGNAL[i], m->root_innovation + ROOT_VALUES * i, ROOT_SENSOR_ROWS[i]);
        ages[ROOT_SENSOR[i]] = t - m->root_exposed[i];
        ready = ready && !isnan(m->root_exposed[i]);
    }
    if (ready && m->kalman_settled_at[0] == INFINITY) {
        m->kalman_settled_at[0] = t + p->kalman_settling[0];
        m->kalman_observe_from[0] = t + p->kalman_observing[0];
    }
    row[ROW_STATE_T] = t;
    row[ROW_STATE_READY] = ready;
    copy(row + ROW_STATE_Q, m->kalman_x, KALMAN_N);
    copy(row + ROW_STATE_U, m->kalman_x + KALMAN_N, KALMAN_N);
    copy(row + ROW_STATE_DEVIATION, m->kalman_deviation, KALMAN_N);
    copy(row + ROW_STATE_INNOVATION, m->kalman_innovation, KALMAN_SIGNALS);
    copy(row + ROW_STATE_CORRECTION, m->kalman_correction, KALMAN_N);
    copy(row + ROW_STATE_DISTURBANCE, m->kalman_disturbance, KALMAN_N);
    copy(row + ROW_STATE_FAULTS, m->kalman_unknown + KALMAN_FAULTS, KALMAN_N_FAULTS);
#if KALMAN_GRIPS
    copy(row + ROW_STATE_HOLDING, m->kalman_holding, KALMAN_GRIPS);
#endif
    copy(row + ROW_STATE_RATE_DEVIATION, m->kalman_deviation + KALMAN_N, KALMAN_N);
    double biases[ROOT_BIASES + 1];
    root_biases(m, biases);
    for (int i = 0; i < ROOT_BIASES; i++)
        m->kalman_bias[KALMAN_BIASED[i]] = biases[i];
    for (int i = 0; i < ROOT_OFFSETS; i++)
        m->joint_offset[KALMAN_OFFSET_VALUE[i]] = m->root_offset[i];
    copy(row + ROW_STATE_BIAS, m->kalman_bias, KALMAN_SIGNALS);
#if KALMAN_PAYLOAD
    copy(row + ROW_STATE_PAYLOAD, m->kalman_payload, KALMAN_PAYLOAD);
#endif
#if KALMAN_GAUGED
    copy(row + ROW_STATE_SUPPLY, m->kalman_supply, KALMAN_BANKS);
#endif
    return 1;
}
