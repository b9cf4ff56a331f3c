/* sin, cos, exp and hypot that do not depend on the machine: elementary.c, or with -DGRANITE_LIBM its library. */
#ifndef GRANITE_ELEMENTARY_H
#define GRANITE_ELEMENTARY_H
#include <math.h>
#ifndef GRANITE_LIBM
double granite_sin(double x);
double granite_cos(double x);
double granite_exp(double x);
double granite_hypot(double x, double y);
#define sin granite_sin
#define cos granite_cos
#define exp granite_exp
#define hypot granite_hypot
#endif
#endif
