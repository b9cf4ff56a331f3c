/* A run in virtual time on the simulated plant: the loop of loop.py in C, tick after tick without Python. */

/* What Python does before a tick is resumed there; a step of steps.c in Python is after the readings. Devices with a
 * wrapper in Python, and timed events, take part in the ticks that are marked for them. */
enum {
    RUN_ENDED,
    AFTER_THE_LOADS,
    AFTER_THE_READINGS,
    AFTER_THE_GUARD = AFTER_THE_READINGS + ALLOCATE + 2,
    AFTER_THE_GRIPS,
    AFTER_THE_WRITINGS,
    AFTER_THE_PLANT
};
enum { SIM_IS_THRUSTERS, SIM_IS_MOTORS, SIM_IS_GRIPS };

/* Read the devices into a row. */
static void read_devices(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *draws,
                         double t, double *row)
{
    for (int i = 0; i < SENSORS; i++) {
        double *frame = m->run_frames + SENSOR_FRAME[i] - SENSOR_FRAME[0];
        if (SIM_SENSOR_IS_CAMERA[i])
            vision_read(m, ks, SIM_SENSOR[i], t, frame);
        else
            sampled_sensor_read(p, m, ks, draws, SIM_SENSOR[i], t, frame);
    }
    row[ROW_SAMPLE_T] = t;
    copy(row + SENSOR_FRAME[0], m->run_frames, FRAMES_SIZE);
    copy(row + APPLIED_FRAME[0], m->run_applied, APPLIED_SIZE);
}

/* Send a set point to actuator i. */
int write_device(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double t,
                 const double *setpoint, double *applied)
{
    if (SIM_ACTUATOR_KIND[i] == SIM_IS_MOTORS)
        motors_write(p, m, SIM_ACTUATOR[i], setpoint, applied);
    else if (SIM_ACTUATOR_KIND[i] == SIM_IS_GRIPS)
        copy(applied, m->grips_holding, GRIPS);
    else
        thrusters_write(p, m, ks, SIM_ACTUATOR[i], t, setpoint, applied);
    return RUN_ENDED;
}

/* The set points of all actuators but those that Python has sent through their wrappers. */
static void write_devices(const struct parameters *p, struct memory *m, const struct kernels *ks, double t,
                          const double *setpoints)
{
    for (int i = 0; i < ACTUATORS; i++, setpoints += ACTUATOR_SIZE[i - 1]) {
        double *frame = m->run_applied + APPLIED_FRAME[i] - APPLIED_FRAME[0];
        if (SIM_ACTUATOR_IS_WRAPPED[i] && p->run_writings[(long)m->run_tick[0]])
            continue;
        write_device(p, m, ks, i, t, setpoints, frame + FRAME_VALUES);
        frame[FRAME_T] = t, frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
    }
}

/* Write the command of the verdict, and complete the row. */
static void end_tick(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double t = row[ROW_SAMPLE_T], *truth = row + ROW_TRUTH_T;
    write_devices(p, m, ks, t, row + ROW_VERDICT_COMMAND_T + 1);
    copy(row + ROW_APPLIED, m->run_applied, APPLIED_SIZE);
    truth[0] = m->plant_steps[0] * p->physics_step[0];
    copy(row + ROW_TRUTH_Q, m->plant_state, PLANT_PATH);
    for (int i = 0; i < SIM_THRUSTERS; i++)
        row[ROW_TRUTH_THRUST + i] = m->plant_state[PLANT_PUSHED + i] / m->plant_averaged[0];
    copy(row + ROW_TRUTH_TANK, m->plant_state + PLANT_TANK, SIM_BANKS);
    memset(row + ROW_TIMING_TICK, 0, sizeof(double) * (ROW_WIDTH - ROW_TIMING_TICK));
    row[ROW_TIMING_TICK] = m->run_tick[0];
    row[ROW_TIMING_SCHEDULED] = t;
    row[ROW_OPERATION_T] = t;
    copy(row + ROW_OPERATION_T + 1, p->run_operation, OPERATION_SIZE);
    plant_write_contacts(m, ks, row);
}

/* Run up to tick `ticks`. `resume`: where the tick at hand is resumed, after Python has done its part of it. */
int run_ticks(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *draws,
              const double *exposures, double *rows, const int *which, long ticks, int resume)
{
    double laps[4];
    for (; (long)m->run_tick[0] < ticks; resume = RUN_ENDED, m->run_tick[0]++) {
        double *row = rows + ROW_WIDTH * (long)m->run_tick[0], t = m->run_tick[0] * p->period[0];
        if (resume < AFTER_THE_LOADS && plant_find_loads(m, ks) != PLANT_RUNS)
            return AFTER_THE_LOADS;
        if (resume < AFTER_THE_READINGS) {
            read_devices(p, m, ks, draws, t, row);
            if (p->run_readings[(long)m->run_tick[0]])
                return AFTER_THE_READINGS;
        }
        if (resume < AFTER_THE_GUARD) {
            int step = resume < AFTER_THE_READINGS ? ESTIMATE : resume - AFTER_THE_READINGS;
            int end = steps(p, m, ks, row, laps, which, step);
            if (end >= STEPS_IN_PYTHON)
                return AFTER_THE_READINGS + end - STEPS_IN_PYTHON + 1;
            if (end != STEPS_PASS)
                return AFTER_THE_GUARD;
        }
        if (resume < AFTER_THE_GRIPS && grips_change(m, row + ROW_GRIPS))
            return AFTER_THE_GRIPS;
        if (resume < AFTER_THE_WRITINGS && (p->run_writings[(long)m->run_tick[0]] || p->run_loads[(long)m->run_tick[0]]))
            return AFTER_THE_WRITINGS;
        if (resume < AFTER_THE_PLANT) {
            end_tick(p, m, ks, row);
            if (plant_advance(p, m, ks, exposures, t + p->period[0]) != PLANT_RUNS)
                return AFTER_THE_PLANT;
        }
    }
    return RUN_ENDED;
}

/* What the cameras see before the first step. */
int begin_run(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *exposures)
{
    (void)p;
    vision_observe(m, ks, exposures, 0, m->plant_state, 1);
    return RUN_ENDED;
}

/* Run several runs on, each with a memory of its own, up to their ticks `ends`; `resumes` as in `run_ticks`.
 * `row` is that of the first tick of a stretch, and `demands` what the law `demanded_acceleration` gets. */
int run_several(const struct parameters *p, struct memory *m, const struct kernels *ks, struct memory *memories,
                const double *const *draws, const double *const *exposures, double *const *rows, const int *which,
                const long *begins, const long *ends, int *resumes, const double *demands, long n)
{
    int waiting = 0;
    (void)m;
    for (long i = 0; i < n; i++) {
        if ((long)memories[i].run_tick[0] >= ends[i])
            continue;
#ifdef DEMANDED
        copy(p->demanded_acceleration_acceleration, demands + DEMANDED * i, DEMANDED);
#endif
        resumes[i] = run_ticks(p, &memories[i], ks, draws[i], exposures[i], rows[i] - ROW_WIDTH * begins[i], which,
                               ends[i], resumes[i]);
        waiting |= resumes[i];
    }
    (void)demands;
    return waiting != 0;
}
