/* Sharing by the best of all on/off patterns: best_pattern.py in C, and `table` as it lists it. */

/* Thrust of each thruster for a finite wrench. */
int best_pattern(const double *table, const double *wrench, double *thrust)
{
    int n = (int)table[0], patterns = (int)table[1], m = (int)table[2], best = 0;
    const double *constant = table + 3, *product = constant + patterns, *pattern = product + m * patterns;
    double least = INFINITY;
    for (int k = 0; k < patterns; k++) {
        double cost = constant[k];
        for (int i = 0; i < m; i++)
            cost = cost + product[i * patterns + k] * wrench[i];
        if (cost < least)
            best = k, least = cost;
    }
    copy(thrust, pattern + best * n, n);
    return best;
}
