/* The grips: grips.py in C, while they keep what they hold. What closes and opens is decided in Python. */

/* Whether Python must be asked: the command changes, or a grip is out of reach. */
static int grips_change(const struct memory *m, const double *setpoint)
{
    int change = m->plant_switches[0] != 0.0;
    for (int k = 0; k < GRIPS; k++)
        change |= (setpoint[k] != 0.0) != (m->grips_commanded[k] != 0.0);
    return change;
}
