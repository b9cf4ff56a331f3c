/* The layout of the free-flyer's board: eight valves, an arm of two joints, a momentum wheel, a grip. */
#ifndef GRANITE_FREE_FLYER_H
#define GRANITE_FREE_FLYER_H

#include "../core/board.h"

/* Indices of the channels, for ports that drive their pins. */
enum free_flyer_channel {
    FIRST_VALVE = 0,
    VALVES = 8,
    MOTOR_SHOULDER = 8,
    MOTOR_ELBOW,
    MOTOR_WHEEL,
    GRIP_TIP,
    ENCODER_SHOULDER,
    ENCODER_ELBOW,
    /* From here on: the converter's inputs in turn. */
    FIRST_CONVERTED,
    CONVERTED = 6,
    FREE_FLYER_CHANNELS = FIRST_CONVERTED + CONVERTED
};

/* Counts of a converter of 12 bits, centred on zero. */
#define CONVERTER_MIDDLE 2048

extern const struct layout FREE_FLYER;

#endif
