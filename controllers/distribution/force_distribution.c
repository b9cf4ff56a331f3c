/* The wrenches of a tick in which no limit is active: force_distribution.py in C. */

/* `grasp`: the fields that the programme reads. Returns 0 where DAQP has to solve, which is left to Python. */
static int distribute(const struct kernels *ks, const double *const *grasp, double *x, double *torque, double *residuals)
{
    double data[DISTRIBUTION_DATA];
    const struct kernel *programme = ks->distribution_programme, *free_of_limits = ks->distribution_without_limits;
    for (int i = 0; i < DISTRIBUTION_FIELDS; i++)
        programme->arg[i] = grasp[i];
    programme->res[0] = data;
    evaluate(programme);
    free_of_limits->arg[0] = data;
    free_of_limits->res[0] = x, free_of_limits->res[1] = torque;
    for (int i = 0; i < 3; i++)
        free_of_limits->res[2 + i] = residuals + i;
    evaluate(free_of_limits);
    return residuals[0] < DISTRIBUTION_LARGEST_RESIDUAL && residuals[1] < DISTRIBUTION_LARGEST_RESIDUAL &&
           residuals[2] < DISTRIBUTION_LARGEST_RESIDUAL;
}
