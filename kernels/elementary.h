/* sin, cos and exp for exported code: elementary.c, or with -DGRANITE_LIBM those of the machine's library. */
#ifndef GRANITE_ELEMENTARY_H
#define GRANITE_ELEMENTARY_H
#include <math.h>
#ifndef GRANITE_LIBM
double granite_sin(double x);
double granite_cos(double x);
double granite_exp(double x);
#define sin granite_sin
#define cos granite_cos
#define exp granite_exp
#endif
#endif
