"""Constants of the search for spots, which both of its forms have: spots.py and centroid.py, and spots.c."""

#: a pixel is bright above so many deviations of the noise, and above this part of the brightest one
SIGMAS, PART = 6.0, 0.35
#: aperture beyond the radius of the target [pixel]: a pixel further out has no light of it
MARGIN_PX = 1.0
#: variance of rounding to whole counts
ROUNDING = 1 / 12
#: rms of a pixel's bias of the noise-free centroid [pixel]
PIXEL_BIAS = 5e-4
#: part of a normal distribution below its mean less one deviation
BELOW = 0.1587
#: second moment of a cone along one axis, over its radius squared
CONE = 0.15
