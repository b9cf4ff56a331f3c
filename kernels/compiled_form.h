#include <math.h>
#include <string.h>

/* A function that CasADi generated, with its work space. */
struct kernel {
    int (*run)(const double **, double **, long long *, double *, int);
    const double **arg;
    double **res;
    long long *iw;
    double *w;
};

/* A frame in the row. */
enum { FRAME_T, FRAME_NUMBER, FRAME_STATUS, FRAME_VALUES };

static inline void evaluate(const struct kernel *kernel)
{
    kernel->run(kernel->arg, kernel->res, kernel->iw, kernel->w, 0);
}

static inline void copy(double *to, const double *from, int n)
{
    memcpy(to, from, sizeof(double) * (size_t)n);
}

/* The number of the row of a table that equals these values bit by bit; `otherwise` where none does. */
static inline double equal_row(const double *table, int rows, int n, const double *values, double otherwise)
{
    for (int i = 0; i < rows; i++)
        if (!memcmp(values, table + n * i, sizeof(double) * (size_t)n))
            return i;
    return otherwise;
}

/* Openings by what valves that share a supply leave of the thrust: each further open one takes the part `drop`. */
static inline void take_shared_supply(double drop, double *opening, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += opening[i];
    double given = drop > 0 ? pow(1.0 - drop, sum > 1.0 ? sum - 1.0 : 0.0) : 1.0;
    for (int i = 0; drop > 0 && i < n; i++)
        opening[i] *= given;
}

/* How many of n ascending numbers are not above x: bisect_right. */
static inline int count_up_to(const double *ascending, int n, double x)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x < ascending[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The row of a table over time. */
static inline int row_in_force(const double *times, int n, double t)
{
    int k = count_up_to(times, n, t) - 1;
    return k > 0 ? k : 0;
}
