/* The simulated joint sensors: joint_sensors.py in C. The errors of all frames are drawn before the run. */

static void joint_sensors_read(const struct parameters *p, struct memory *m, const struct kernels *ks,
                               const double *errors, int i, double t, double *frame)
{
    if (!(t >= m->sim_joint_due[i]))
        return;
    int n = SIM_JOINT_COUNT[i];
    const double *joints = m->plant_state + PLANT_JOINTS + SIM_JOINT_FIRST[i];
    const struct kernel *k = &ks->sim_measurement[i];
    k->arg[0] = joints, k->arg[1] = joints + SIM_JOINTS_IN_ALL;
    k->arg[2] = errors + SIM_JOINT_ERRORS[i] + 2 * n * (long)frame[FRAME_NUMBER];
    k->res[0] = frame + FRAME_VALUES;
    evaluate(k);
    frame[FRAME_T] = t, frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
    m->sim_joint_due[i] = t + p->sim_joint_interval[i];
}
