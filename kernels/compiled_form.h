#include <math.h>
#include <string.h>
#include <time.h>

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

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
