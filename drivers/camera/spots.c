/* Spots in windows of a frame: the compiled form of `survey` in spots.py and of `measure` in centroid.py.

   Sums over pixels are sums of whole numbers, and exact; what follows from them is computed in the order of the
   Python form. So both forms give the same bits. */
#include <math.h>
#include <stdint.h>

enum { DARK = 0, SINGLE = 1, SEVERAL = 2 };

/* moments of some pixels about a whole one: of their number, and of their grey values */
struct moments {
    double n, i, j, q;
    double p, pi, pj, pq;
};

static void add(struct moments *m, int i, int j, int p)
{
    int q = i * i + j * j;
    m->n += 1;
    m->i += i;
    m->j += j;
    m->q += q;
    m->p += p;
    m->pi += p * i;
    m->pj += p * j;
    m->pq += p * q;
}

static int value_at(const int *histogram, int index)
{
    int value = 0, below = histogram[0];
    while (below <= index)
        below += histogram[++value];
    return value;
}

static void levels(const int *histogram, int size, double *background, double *noise)
{
    double middle = value_at(histogram, size / 2);
    double spread = middle - value_at(histogram, (int)(BELOW * size)) + 0.5;
    double low = middle - 3 * spread, high = middle + 3 * spread;
    double count = 0, sum = 0, squares = 0;
    for (int v = 0; v < 256; v++)
        if (v >= low && v <= high) {
            count += histogram[v];
            sum += (double)histogram[v] * v;
            squares += (double)histogram[v] * v * v;
        }
    double mean = sum / count, variance = squares / count - mean * mean;
    *background = mean;
    *noise = sqrt(variance > ROUNDING ? variance : ROUNDING);
}

/* x, y, deviation, total, radius of one spot; see `measure` */
static void centroid(const uint8_t *window, int stride, int rows, int columns, double guess_x, double guess_y,
                     double radius, int half, double background, double noise, double gain, double *spot)
{
    double reach = radius + MARGIN_PX, beyond = reach - 0.5;
    for (int k = 0; k < 5; k++)
        spot[k] = NAN;
    if (!(guess_x >= beyond && guess_x <= columns - 1 - beyond && guess_y >= beyond && guess_y <= rows - 1 - beyond))
        return;
    double centre_x = rint(guess_x), centre_y = rint(guess_y), squared_reach = reach * reach;
    double x = guess_x - centre_x, y = guess_y - centre_y, old_x = x, old_y = y, lit = NAN;
    struct moments all, bright;
    for (int round = 0; round < 2; round++) {
        all = bright = (struct moments){0};
        for (int j = -half; j <= half; j++) {
            int row = (int)centre_y + j;
            const uint8_t *line = window + stride * (row < 0 ? 0 : row >= rows ? rows - 1 : row);
            double dy = j - y, dy2 = dy * dy;
            for (int i = -half; i <= half; i++) {
                double dx = i - x;
                if (dx * dx + dy2 <= squared_reach) {
                    int column = (int)centre_x + i;
                    int p = line[column < 0 ? 0 : column >= columns ? columns - 1 : column];
                    add(&all, i, j, p);
                    if (gain != 0 && round && p > background)
                        add(&bright, i, j, p);
                }
            }
        }
        double total = all.p - background * all.n;
        lit = total > 0 ? total : NAN;
        old_x = x;
        old_y = y;
        x = (all.pi - background * all.i) / lit;
        y = (all.pj - background * all.j) / lit;
    }
    double about = old_x * old_x + old_y * old_y;
    double moment = (all.pq - background * all.q) / lit - x * x - y * y;
    double spread = all.q - 2 * old_x * all.i - 2 * old_y * all.j + about * all.n;
    double variance = noise * noise * spread / 2;
    if (gain != 0) {
        double photons = bright.pq - background * bright.q - 2 * old_x * (bright.pi - background * bright.i) -
                         2 * old_y * (bright.pj - background * bright.j) + about * (bright.p - background * bright.n);
        variance += gain * photons / 2;
    }
    spot[0] = centre_x + x;
    spot[1] = centre_y + y;
    spot[2] = sqrt(variance / (lit * lit) + PIXEL_BIAS * PIXEL_BIAS);
    spot[3] = all.p - background * all.n;
    spot[4] = sqrt((moment > 0 ? moment : 0.0) / (2 * CONE));
    if (lit != lit)
        spot[4] = NAN;
}

/* centroids at guesses, one in each window (n, rows, columns) */
void measure(const uint8_t *windows, int n, int rows, int columns, const double *guess, const double *radius, int half,
             const double *background, const double *noise, double gain, double *spot)
{
    for (int k = 0; k < n; k++)
        centroid(windows + (intptr_t)k * rows * columns, columns, rows, columns, guess[2 * k], guess[2 * k + 1],
                 radius[k], half, background[k], noise[k], gain, spot + 5 * k);
}

/* what is in windows of a frame: background, noise, state, and the centroid where there is a single spot */
void survey(const uint8_t *frame, int stride, const int64_t *corners, int n, int rows, int columns,
            const double *radius, int half, double gain, double *spot)
{
    for (int k = 0; k < n; k++, spot += 8) {
        const uint8_t *window = frame + corners[2 * k + 1] * stride + corners[2 * k];
        int histogram[256] = {0}, peak = 255;
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < columns; i++)
                histogram[window[(intptr_t)j * stride + i]]++;
        levels(histogram, rows * columns, spot, spot + 1);
        while (!histogram[peak])
            peak--;
        double background = spot[0], noise = SIGMAS * spot[1], part = PART * (peak - background);
        double threshold = background + (noise > part ? noise : part);
        double number = 0, sum_i = 0, sum_j = 0, p = 0, pi = 0, pj = 0;
        int left = columns, right = -1, top = rows, bottom = -1;
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < columns; i++) {
                int value = window[(intptr_t)j * stride + i];
                if (value > threshold) {
                    number += 1;
                    sum_i += i;
                    sum_j += j;
                    p += value;
                    pi += value * i;
                    pj += value * j;
                    left = i < left ? i : left;
                    right = i > right ? i : right;
                    top = j < top ? j : top;
                    bottom = j;
                }
            }
        double total = p - background * number, largest = 2 * radius[k] + 2;
        spot[2] = total > 0 ? SEVERAL : DARK;
        for (int m = 3; m < 8; m++)
            spot[m] = NAN;
        if (total > 0 && right - left + 1 <= largest && bottom - top + 1 <= largest) {
            spot[2] = SINGLE;
            centroid(window, stride, rows, columns, (pi - background * sum_i) / total,
                     (pj - background * sum_j) / total, radius[k], half, background, spot[1], gain, spot + 3);
        }
    }
}
