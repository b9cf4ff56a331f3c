/* Sharing with the least propellant: least_propellant.py and nearest.py in C, and `table` as the former lists it. */

enum { LP_THRUSTERS = 64, LP_ROWS = 6, LP_CHANGES = 20 };
enum { LP_OPTIMAL, LP_NEAREST, LP_FAILED };
static const double LP_ZERO = 1e-12;

struct tiling {
    int all, n, m, r, tiles; /* thrusters, usable ones, rows of a wrench, directions in reach, tiles */
    double tolerance;
    const double *usable, *projection, *columns, *available, *normals, *offsets, *basis, *inverse, *shift, *outside;
};

static struct tiling tiling_of(const double *table)
{
    struct tiling t = {(int)table[0], (int)table[1], (int)table[2], (int)table[3], (int)table[4], table[5]};
    t.usable = table + 6;
    t.projection = t.usable + t.n;
    t.columns = t.projection + t.r * t.m;
    t.available = t.columns + t.n * t.r;
    t.normals = t.available + t.n;
    t.offsets = t.normals + t.tiles * t.r;
    t.basis = t.offsets + t.tiles;
    t.inverse = t.basis + t.tiles * t.r;
    t.shift = t.inverse + t.tiles * t.r * t.r;
    t.outside = t.shift + t.tiles * t.r;
    return t;
}

static double lp_dot(const double *a, const double *b, int n)
{
    double total = 0.0;
    for (int i = 0; i < n; i++)
        total += a[i] * b[i];
    return total;
}

static double lp_within(double x, double most)
{
    x = x > 0.0 ? x : 0.0;
    return x < most ? x : most;
}

/* The optimum for a wrench within the bounds; 1 where it was there without them. */
static int look_up(const struct tiling *t, const double *target, double *thrust)
{
    int best = 0, in_reach = 1, r = t->r;
    double largest = 0.0;
    for (int k = 0; k < t->tiles; k++) {
        double value = -t->offsets[k];
        for (int i = 0; i < r; i++)
            value = value + t->normals[k * r + i] * target[i];
        if (k == 0 || value > largest)
            best = k, largest = value;
    }
    copy(thrust, t->outside + best * t->n, t->n);
    for (int i = 0; i < r; i++) {
        int j = (int)t->basis[best * r + i];
        double wanted = t->shift[best * r + i] + lp_dot(t->inverse + (best * r + i) * r, target, r);
        in_reach = in_reach && -t->tolerance <= wanted && wanted <= t->available[j] + t->tolerance;
        thrust[j] = lp_within(wanted, t->available[j]);
    }
    return in_reach;
}

static void lp_residual(const struct tiling *t, const double *thrust, const double *wrench, const int *is_free, double *left)
{
    copy(left, wrench, t->r);
    for (int j = 0; j < t->n; j++)
        if (!is_free || !is_free[j])
            for (int i = 0; i < t->r; i++)
                left[i] -= t->columns[j * t->r + i] * thrust[j];
}

/* Least squares over the free columns without their bounds: modified Gram-Schmidt, and back-substitution. */
static void lp_unbounded(const struct tiling *t, const int *free, int k, double *left, double *solution)
{
    double direction[LP_ROWS][LP_ROWS], upper[LP_ROWS][LP_ROWS];
    int r = t->r;
    for (int i = 0; i < k; i++) {
        double *own = direction[i];
        copy(own, t->columns + free[i] * r, r);
        for (int before = 0; before < i; before++) {
            upper[before][i] = lp_dot(direction[before], own, r);
            for (int row = 0; row < r; row++)
                own[row] -= upper[before][i] * direction[before][row];
        }
        upper[i][i] = sqrt(lp_dot(own, own, r));
        for (int row = 0; row < r; row++)
            own[row] /= upper[i][i];
        solution[i] = lp_dot(own, left, r);
        for (int row = 0; row < r; row++)
            left[row] -= solution[i] * own[row];
    }
    for (int i = k - 1; i >= 0; i--) {
        for (int after = i + 1; after < k; after++)
            solution[i] -= upper[i][after] * solution[after];
        solution[i] /= upper[i][i];
    }
}

/* Move `thrust`, within its bounds, to the nearest wrench; 0 where the changes of the active set do not suffice. */
static int lp_nearest(const struct tiling *t, const double *wrench, double *thrust)
{
    int n = t->n, r = t->r, k = 0, free[LP_THRUSTERS], is_free[LP_THRUSTERS] = {0};
    double length[LP_THRUSTERS], best[LP_ROWS], left[LP_ROWS], size = sqrt(lp_dot(wrench, wrench, r));
    for (int j = 0; j < n; j++)
        if (0.0 < thrust[j] && thrust[j] < t->available[j])
            free[k++] = j, is_free[j] = 1;
    for (int j = 0; j < n; j++) {
        length[j] = sqrt(lp_dot(t->columns + j * r, t->columns + j * r, r));
        size += t->available[j] * length[j];
    }
    for (int change = 0; change < LP_CHANGES * n; change++) {
        if (k) {
            lp_residual(t, thrust, wrench, is_free, left);
            lp_unbounded(t, free, k, left, best);
            double part = 1.0, bound = 0.0;
            int blocking = -1;
            for (int i = 0; i < k; i++)
                if (best[i] < 0.0 || best[i] > t->available[free[i]]) {
                    double limit = best[i] < 0.0 ? 0.0 : t->available[free[i]];
                    double reached = (limit - thrust[free[i]]) / (best[i] - thrust[free[i]]);
                    if (reached <= part)
                        part = reached, blocking = i, bound = limit;
                }
            for (int i = 0; i < k; i++) {
                double *own = thrust + free[i];
                *own = lp_within(blocking < 0 ? best[i] : *own + part * (best[i] - *own), t->available[free[i]]);
            }
            if (blocking >= 0) {
                thrust[free[blocking]] = bound;
                is_free[free[blocking]] = 0;
                for (k--; blocking < k; blocking++)
                    free[blocking] = free[blocking + 1];
                continue;
            }
        }
        lp_residual(t, thrust, wrench, 0, left);
        double steepest = LP_ZERO * size;
        int chosen = -1;
        for (int j = 0; j < n; j++) {
            if (is_free[j])
                continue;
            double gain = lp_dot(t->columns + j * r, left, r) / length[j];
            gain = thrust[j] <= 0.0 ? gain : -gain;
            if (gain > steepest)
                steepest = gain, chosen = j;
        }
        if (chosen < 0)
            return 1;
        if (k == r)
            return 0;
        free[k++] = chosen, is_free[chosen] = 1;
    }
    return 0;
}

/* Whether a wrench is finite. */
int shareable(const double *table, const double *wrench)
{
    return lp_dot(wrench, wrench, (int)table[2]) < INFINITY;
}

/* Thrust of each thruster for a wrench; not a number where it fails. */
int least_propellant(const double *table, const double *wrench, double *thrust)
{
    struct tiling t = tiling_of(table);
    double target[LP_ROWS], optimum[LP_THRUSTERS], cheapest[LP_THRUSTERS], at[LP_ROWS];
    memset(thrust, 0, sizeof(double) * (size_t)t.all);
    if (!t.tiles)
        return LP_OPTIMAL;
    int status = LP_OPTIMAL;
    for (int i = 0; i < t.r; i++)
        target[i] = lp_dot(t.projection + i * t.m, wrench, t.m);
    if (!(lp_dot(target, target, t.r) < INFINITY))
        status = LP_FAILED;
    else if (!look_up(&t, target, optimum)) {
        status = lp_nearest(&t, target, optimum) ? LP_NEAREST : LP_FAILED;
        for (int i = 0; i < t.r; i++) {
            at[i] = 0.0;
            for (int j = 0; j < t.n; j++)
                at[i] += t.columns[j * t.r + i] * optimum[j];
        }
        if (status == LP_NEAREST && look_up(&t, at, cheapest))
            copy(optimum, cheapest, t.n);
    }
    for (int j = 0; j < t.all && status == LP_FAILED; j++)
        thrust[j] = NAN;
    for (int j = 0; j < t.n && status != LP_FAILED; j++)
        thrust[(int)t.usable[j]] = optimum[j];
    return status;
}
