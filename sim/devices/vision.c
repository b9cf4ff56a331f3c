/* The simulated cameras: vision.py in C. The exposures of all devices are drawn before the run. */

enum {
    EXPOSURE_LOST,
    EXPOSURE_STEP,
    EXPOSURE_STAMP,
    EXPOSURE_BACK,
    EXPOSURE_ARRIVAL,
    EXPOSURE_Q,
    EXPOSURE_U,
    EXPOSURE_ERROR,
    EXPOSURE = 10
};
enum { WAY_ARRIVAL, WAY_T, WAY_POSE, WAY = 5 };

/* Pose of a target on a body at the state x of the plant, `back` seconds before. */
static void vision_see(const struct kernels *ks, int i, const double *x, double back, const double *error, double *pose)
{
    const struct kernel *k = &ks->camera_target[i];
    k->arg[0] = x, k->arg[1] = &back, k->arg[2] = error, k->res[0] = pose;
    evaluate(k);
}

/* Make the exposures that fall into the last `steps` physics steps; `path` has the end of each. */
static void vision_observe(struct memory *m, const struct kernels *ks, const double *exposures, long last,
                           const double *path, int steps)
{
    for (int i = 0; i < SIM_CAMERAS; i++) {
        if (SIM_CAMERA_IS_PERFECT[i])
            continue;
        const double *e = exposures + EXPOSURE * (SIM_CAMERA_FIRST[i] + (long)m->camera_next[i]);
        for (; e[EXPOSURE_STEP] <= (double)last; e += EXPOSURE, m->camera_next[i]++) {
            if (e[EXPOSURE_LOST])
                continue;
            const double *x = path + PLANT_PATH * (steps + (long)e[EXPOSURE_STEP] - last - 1);
            double *way = m->camera_way + WAY * (SIM_CAMERA_WAY[i] + (int)m->camera_waiting[i]++);
            way[WAY_ARRIVAL] = e[EXPOSURE_ARRIVAL];
            way[WAY_T] = e[EXPOSURE_STAMP];
            /* Back from the end of the step: wrong by less than a step squared times half the acceleration. */
            if (SIM_CAMERA_SEES_TARGET[i])
                vision_see(ks, i, x, e[EXPOSURE_BACK], e + EXPOSURE_ERROR, way + WAY_POSE);
            for (int k = 0; k < 3 && !SIM_CAMERA_SEES_TARGET[i]; k++)
                way[WAY_POSE + k] = x[(int)e[EXPOSURE_Q] + k] - e[EXPOSURE_BACK] * x[(int)e[EXPOSURE_U] + k] +
                                    e[EXPOSURE_ERROR + k];
        }
    }
}

static void vision_read(struct memory *m, const struct kernels *ks, int i, double t, double *frame)
{
    if (SIM_CAMERA_IS_PERFECT[i]) {
        if (!(t <= frame[FRAME_T])) {
            const double none[3] = {0};
            if (SIM_CAMERA_SEES_TARGET[i])
                vision_see(ks, i, m->plant_state, 0, none, frame + FRAME_VALUES);
            else
                copy(frame + FRAME_VALUES, m->plant_state + SIM_CAMERA_Q[i], 3);
            frame[FRAME_T] = t, frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
        }
        return;
    }
    double *way = m->camera_way + WAY * SIM_CAMERA_WAY[i];
    int arrived = 0, waiting = (int)m->camera_waiting[i];
    while (arrived < waiting && way[WAY * arrived + WAY_ARRIVAL] <= t + SAME_TIME) {
        const double *pose = way + WAY * arrived++;
        frame[FRAME_T] = pose[WAY_T], frame[FRAME_NUMBER]++, frame[FRAME_STATUS] = STATUS_OK;
        copy(frame + FRAME_VALUES, pose + WAY_POSE, 3);
    }
    if (arrived) {
        memmove(way, way + WAY * arrived, sizeof(double) * WAY * (size_t)(waiting - arrived));
        m->camera_waiting[i] = waiting - arrived;
    }
}
