/* The steps of the tick from estimate to guard: steps.py in C. The row has the sample.
 * What they end with: the guard in Python decides, the command passes, or a fault was found and the rest is Python's. */

enum { STEPS_ASK_THE_GUARD, STEPS_PASS, STEPS_FOUND_A_FAULT };

int steps(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row, double *laps)
{
    double t0 = seconds_now();
    estimate(p, m, ks, row);
    double t1 = seconds_now();
    laps[0] = t1 - t0;
    if (has_faults(row))
        return STEPS_FOUND_A_FAULT;
    decide(p, m, ks, row);
    double t2 = seconds_now();
    control(p, m, ks, row);
    double t3 = seconds_now();
    allocate(p, m, ks, row);
    double t4 = seconds_now();
    laps[1] = t2 - t1, laps[2] = t3 - t2, laps[3] = t4 - t3;
    return guard(m, ks, row) ? STEPS_PASS : STEPS_ASK_THE_GUARD;
}
