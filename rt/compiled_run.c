/* A run in virtual time on the simulated plant: the loop of loop.py in C, tick after tick without Python. */

enum {
    RUN_ENDED,
    RUN_ASKS_THE_GUARD,
    RUN_GRIPS_CHANGE,
    RUN_CONTACTS_SWITCH,
    RUN_LOST_THE_PLANT,
    RUN_NEEDS_THE_LOOP,
    RUN_IN_PYTHON
};
/* Where a tick is resumed: at its begin, at a step of steps.c, after all of them, after grips were told what to hold,
 * or before a step of the plant, after contacts were switched. */
enum { AT_THE_BEGIN, AFTER_THE_STEPS = ALLOCATE + 2, AFTER_THE_GRIPS, IN_THE_PLANT };
enum { SIM_IS_THRUSTERS, SIM_IS_MOTORS, SIM_IS_GRIPS };

static void read_devices(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *errors,
                         double t)
{
    for (int i = 0; i < SENSORS; i++) {
        double *frame = m->run_frames + SENSOR_FRAME[i] - SENSOR_FRAME[0];
        if (SIM_SENSOR_IS_CAMERA[i])
            vision_read(m, SIM_SENSOR[i], t, frame);
        else
            joint_sensors_read(p, m, ks, errors, SIM_SENSOR[i], t, frame);
    }
}

static void write_devices(const struct parameters *p, struct memory *m, const struct kernels *ks, double t,
                          const double *setpoints)
{
    for (int i = 0; i < ACTUATORS; i++, setpoints += ACTUATOR_SIZE[i - 1]) {
        double *frame = m->run_applied + APPLIED_FRAME[i] - APPLIED_FRAME[0];
        if (SIM_ACTUATOR_KIND[i] == SIM_IS_MOTORS)
            motors_write(p, m, SIM_ACTUATOR[i], setpoints, frame + FRAME_VALUES);
        else if (SIM_ACTUATOR_KIND[i] == SIM_IS_GRIPS)
            copy(frame + FRAME_VALUES, m->grips_holding, GRIPS);
        else
            thrusters_write(p, m, ks, SIM_ACTUATOR[i], t, setpoints, frame + FRAME_VALUES);
        frame[FRAME_T] = t, frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
    }
}

/* Read the devices and run the steps. */
static int begin_tick(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *errors,
                      const int *which, double t, double *row)
{
    double laps[4];
    read_devices(p, m, ks, errors, t);
    row[ROW_SAMPLE_T] = t;
    copy(row + SENSOR_FRAME[0], m->run_frames, FRAMES_SIZE);
    copy(row + APPLIED_FRAME[0], m->run_applied, APPLIED_SIZE);
    return steps(p, m, ks, row, laps, which, ESTIMATE);
}

/* Write the command of the verdict, and complete the row. */
static int end_tick(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
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
    return plant_write_contacts(p, m, ks, row);
}

/* Run up to tick `ticks`. `resume`: where the tick at hand is resumed, after Python has done its part of it. */
int run_ticks(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *errors,
              const double *exposures, double *rows, const int *which, long ticks, int resume)
{
    double laps[4];
    for (; (long)m->run_tick[0] < ticks; resume = AT_THE_BEGIN) {
        double *row = rows + ROW_WIDTH * (long)m->run_tick[0];
        int end = STEPS_PASS, plant = PLANT_RUNS;
        if (resume == AT_THE_BEGIN)
            end = begin_tick(p, m, ks, errors, which, m->run_tick[0] * p->period[0], row);
        else if (resume < AFTER_THE_STEPS)
            end = steps(p, m, ks, row, laps, which, resume);
        if (end >= STEPS_IN_PYTHON)
            return RUN_IN_PYTHON + end - STEPS_IN_PYTHON;
        if (end != STEPS_PASS)
            return RUN_ASKS_THE_GUARD;
        if (resume < AFTER_THE_GRIPS && grips_change(m, row + ROW_GRIPS))
            return RUN_GRIPS_CHANGE;
        if (resume < IN_THE_PLANT)
            plant = end_tick(p, m, ks, row);
        if (plant == PLANT_RUNS)
            plant = plant_advance(p, m, ks, exposures, row[ROW_SAMPLE_T] + p->period[0], resume == IN_THE_PLANT);
        if (plant == PLANT_SWITCHES)
            return RUN_CONTACTS_SWITCH;
        m->run_tick[0]++;
        if (plant != PLANT_RUNS)
            return plant == PLANT_LOST ? RUN_LOST_THE_PLANT : RUN_NEEDS_THE_LOOP;
    }
    return RUN_ENDED;
}

/* What the cameras see before the first step. */
int begin_run(const struct parameters *p, struct memory *m, const struct kernels *ks, const double *exposures)
{
    (void)p, (void)ks;
    vision_observe(m, exposures, 0, m->plant_state, 1);
    return RUN_ENDED;
}
