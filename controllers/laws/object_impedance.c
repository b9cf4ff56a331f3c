/* Object impedance: object_impedance.py in C, for ticks in which no limit of the distribution is active. */

enum { RESULT_MOTION, RESULT_INTEGRAL, RESULT_CORRECTION, RESULT_MEASURED };

/* Returns 0, with nothing changed, where the distribution needs its solver. */
static int object_impedance_control(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)
{
    double results[LAW_RESULT_NUMBERS], x[DISTRIBUTION_UNKNOWNS], outputs[LAW_OUTPUTS + 1], residuals[3];
    if (m->distribution_is_limited[0])
        return 0;
    const double *grasp[DISTRIBUTION_FIELDS];
    const struct kernel *k = ks->object_impedance;
    int ready = row[ROW_STATE_READY] != 0;
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = row + ROW_STATE_U;
    k->arg[2] = row + ROW_REFERENCE_Q, k->arg[3] = row + ROW_REFERENCE_U, k->arg[4] = row + ROW_REFERENCE_A;
    k->arg[5] = m->law_integral;
#ifdef ROW_STATE_GAUGES
    k->arg[6] = row + ROW_STATE_GAUGES;
#endif
    k->arg[7] = m->law_correction, k->arg[8] = m->law_wrench;
    k->arg[9] = p->law_force_gain + !(ready && m->law_is_steady[0]);
    k->arg[10] = p->law_gains, k->arg[11] = p->law_integral_limits, k->arg[12] = m->law_ramp;
    for (int i = 0; i < LAW_RESULTS; i++)
        k->res[i] = results + LAW_RESULT[i];
    evaluate(k);
    for (int i = 0; i < DISTRIBUTION_FIELDS; i++)
        grasp[i] = LAW_GRASP[i] == -1   ? m->law_torque
                   : LAW_GRASP[i] == -2 ? m->law_ramp
                                        : results + LAW_RESULT[LAW_GRASP[i]];
    if (!distribute(ks, grasp, x, outputs, residuals))
        return 0;
    if (ready) {
        double ramp = m->law_ramp[0] + p->law_ramp_step[0];
        m->law_ramp[0] = ramp < 1.0 ? ramp : 1.0;
        copy(m->law_wrench, x, LAW_GRIP_NUMBERS);
        copy(m->law_integral, results + LAW_RESULT[RESULT_INTEGRAL], LAW_INTEGRALS);
    }
    copy(m->law_correction, results + LAW_RESULT[RESULT_CORRECTION], LAW_GRIP_NUMBERS);
    copy(m->law_torque, outputs, LAW_JOINTS);
    m->law_is_steady[0] = 1;
    row[ROW_DEMAND_T] = row[ROW_STATE_T];
    copy(row + ROW_DEMAND_ACCELERATION, results + LAW_RESULT[RESULT_MOTION], N_U);
    k = ks->object_demand;
    k->arg[0] = row + ROW_STATE_Q, k->arg[1] = outputs;
    k->res[0] = row + ROW_DEMAND_FORCE, k->res[1] = row + ROW_DEMAND_WRENCH;
    evaluate(k);
    double *recorded = row + ROW_DEMAND_DISTRIBUTION;
    copy(recorded, x, LAW_GRIP_NUMBERS), recorded += LAW_GRIP_NUMBERS;
    copy(recorded, results + LAW_RESULT[RESULT_MEASURED], LAW_MEASURED), recorded += LAW_MEASURED;
    /* Status optimal, outcome within all limits, no iteration of the solver. */
    recorded[0] = 1, recorded[1] = 0, recorded[2] = 0;
    copy(recorded + 3, residuals, 3);
    return 1;
}
