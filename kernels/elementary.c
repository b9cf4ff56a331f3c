/* sin, cos, exp and hypot by plain IEEE operations: the same bits on every machine, error below 1 ulp.
 * C libraries differ from each other in the last bit of 1 to 10 % of the results, and one library from itself on a
 * processor without fused multiply-add in 0.07 %. After fdlibm, shortened:
 *
 * Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun Microsystems, Inc.
 * business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this
 * notice is preserved. */
#include "elementary.h"

#ifndef GRANITE_LIBM

/* Beyond it the reduction has too few bits: the result is NaN, which no guard lets pass [rad]. */
#define MOST_TURNED 1e6

/* sin(x + y) and cos(x + y) for |x| up to pi / 4 and a small y. */
static double sin_of(double x, double y)
{
    double z = x * x, v = z * x;
    double r = 8.33333333332248946124e-03 +
               z * (-1.98412698298579493134e-04 +
                    z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
}

static double cos_of(double x, double y)
{
    double z = x * x;
    double r = z * (4.16666666666666019037e-02 +
                    z * (-1.38888888888741095749e-03 +
                         z * (2.48015872894767294178e-05 +
                              z * (-2.75573143513906633035e-07 +
                                   z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    double half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + (z * r - x * y));
}

/* Sine of x and a number of quarter turns; pi / 2 in parts of 33 bits, the third one only near its multiples. */
static double turned(double x, int quarters)
{
    if (!(fabs(x) < MOST_TURNED))
        return NAN;
    double n = floor(x * 6.36619772367581382433e-01 + 0.5);
    double t = x - n * 1.57079632673412561417e+00, w = n * 6.07710050630396597660e-11, r = t - w;
    w = n * 2.02226624879595063154e-21 - ((t - r) - w);
    if (fabs(r - w) < 1e-9) {
        t = r;
        w = n * 2.02226624871116645580e-21;
        r = t - w;
        w = n * 8.47842766036889956997e-32 - ((t - r) - w);
    }
    double head = r - w, tail = (r - head) - w;
    switch (((int)n + quarters) & 3) {
    case 0: return sin_of(head, tail);
    case 1: return cos_of(head, tail);
    case 2: return -sin_of(head, tail);
    default: return -cos_of(head, tail);
    }
}

double granite_sin(double x)
{
    return fabs(x) < 1e-8 ? x : turned(x, 0);
}

double granite_cos(double x)
{
    return turned(x, 1);
}

/* exp(x) = 2^k exp(r): a rational form on |r| up to ln(2) / 2. */
double granite_exp(double x)
{
    if (!(x > -708.0 && x < 709.0))
        return x != x ? x : x < 0 ? 0.0 : INFINITY;
    double k = floor(x * 1.44269504088896338700e+00 + 0.5);
    double high = x - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10;
    double r = high - low, t = r * r;
    double c = r - t * (1.66666666666666019037e-01 +
                        t * (-2.77777777770155933842e-03 +
                             t * (6.61375632143793436117e-05 +
                                  t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    return ldexp(1.0 - ((low - (r * c) / (2.0 - c)) - high), (int)k);
}

/* Lengths, far from where a square overflows. */
double granite_hypot(double x, double y)
{
    return sqrt(x * x + y * y);
}

#endif
