/* The simulated actuators take their set points: motors.py, momentum_wheel.py and thrusters.py in C. */

static void motors_write(const struct parameters *p, struct memory *m, int i, const double *setpoint, double *applied)
{
    for (int k = 0, at = SIM_MOTOR_FIRST[i]; k < SIM_MOTOR_COUNT[i]; k++, at++) {
        double limit = p->sim_motor_limit[at], rate = m->plant_state[SIM_MOTOR_RATE[at]];
        int drives_on = fabs(rate) >= p->sim_motor_highest[at] && setpoint[k] * rate > 0;
        double torque = drives_on ? 0.0 : setpoint[k];
        applied[k] = torque < -limit ? -limit : torque > limit ? limit : torque; /* NaN stays NaN */
        m->sim_torque[at] = applied[k] * m->sim_motor_gain[at];
    }
}

/* Ideal valves: any opening from 0 to 1, never -0; NaN stays NaN. */
static void throttles_write(struct memory *m, int i, const double *setpoint, double *applied)
{
    for (int k = 0; k < SIM_VALVES[i]; k++) {
        applied[k] = (setpoint[k] < 0.0 ? 0.0 : setpoint[k] > 1.0 ? 1.0 : setpoint[k]) + 0.0;
        m->sim_throttles[SIM_FIRST[i] + k] = applied[k];
    }
}

static void thrusters_write(const struct parameters *p, struct memory *m, const struct kernels *ks, int i, double t,
                            const double *setpoint, double *applied)
{
    if (SIM_IS_THROTTLED[i]) {
        throttles_write(m, i, setpoint, applied);
        return;
    }
    struct bank bank = sim_bank(p, m, ks, i);
    bank_command(&bank, t, setpoint);
    copy(applied, bank_accepted(&bank), bank.n);
}
