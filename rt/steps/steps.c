/* The steps of the tick from estimate to guard: steps.py in C. The row has the sample.
 * What they end with: the guard in Python decides, the command passes, a fault was found and the rest is Python's, or
 * (plus its number) the next step has no compiled form, or leaves this tick to its Python form: the row gets its
 * record, and the steps go on after it. */

enum { STEPS_ASK_THE_GUARD, STEPS_PASS, STEPS_FOUND_A_FAULT, STEPS_IN_PYTHON };
enum { ESTIMATE, DECIDE, CONTROL, ALLOCATE };

static double lap(double *since)
{
    double now = seconds_now(), passed = now - *since;
    *since = now;
    return passed;
}

int steps(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row, double *laps, int first)
{
    double since = seconds_now();
    if (first <= ESTIMATE) {
#if COMPILED_ESTIMATOR
        estimate(p, m, ks, row);
        laps[ESTIMATE] = lap(&since);
        if (has_faults(row))
            return STEPS_FOUND_A_FAULT;
#else
        return STEPS_IN_PYTHON + ESTIMATE;
#endif
    }
    if (first <= DECIDE) {
#if COMPILED_BEHAVIOUR
        if (!decide(p, m, ks, row))
            return STEPS_IN_PYTHON + DECIDE;
        laps[DECIDE] = lap(&since);
#else
        return STEPS_IN_PYTHON + DECIDE;
#endif
    }
    if (first <= CONTROL) {
#if COMPILED_LAW
        if (!control(p, m, ks, row))
            return STEPS_IN_PYTHON + CONTROL;
        laps[CONTROL] = lap(&since);
#else
        return STEPS_IN_PYTHON + CONTROL;
#endif
    }
    if (first <= ALLOCATE) {
#if COMPILED_ACTUATION
        allocate(p, m, ks, row);
        laps[ALLOCATE] = lap(&since);
#else
        return STEPS_IN_PYTHON + ALLOCATE;
#endif
    }
    return guard(m, ks, row) ? STEPS_PASS : STEPS_ASK_THE_GUARD;
}
