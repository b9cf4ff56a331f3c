#include "free_flyer.h"

/* Shortest pulse 10 ms, longest 0.5 s. */
#define THRUSTER(NAME) {VALVE, NAME, "s", 1e-5f, 1000, 50000}
/* A motor's amplifier: counts of 0.1 mN m. */
#define DRIVE(KIND, NAME, LIMIT) {KIND, NAME, "N m", 1e-4f, -(LIMIT), LIMIT}
/* 4096 lines, all four edges counted. */
#define ANGLE(NAME) {ENCODER, NAME, "rad", 3.8349520e-4f, INT32_MIN, INT32_MAX}
#define CONVERTER(KIND, NAME, UNIT, SCALE) {KIND, NAME, UNIT, SCALE, -CONVERTER_MIDDLE, CONVERTER_MIDDLE - 1}

const struct layout FREE_FLYER = {
    .name = "free-flyer",
    .channels = FREE_FLYER_CHANNELS,
    .channel =
        {
            THRUSTER("r1"),
            THRUSTER("r2"),
            THRUSTER("r3"),
            THRUSTER("r4"),
            THRUSTER("r5"),
            THRUSTER("r6"),
            THRUSTER("r7"),
            THRUSTER("r8"),
            DRIVE(MOTOR, "shoulder", 20000),
            DRIVE(MOTOR, "elbow", 10000),
            DRIVE(WHEEL, "wheel", 5000),
            {GRIP, "tip", "1", 1.0f, 0, 1},
            ANGLE("shoulder"),
            ANGLE("elbow"),
            CONVERTER(RATE, "shoulder", "rad/s", 5e-3f),
            CONVERTER(RATE, "elbow", "rad/s", 5e-3f),
            CONVERTER(GAUGE, "tip_x", "N", 1e-2f),
            CONVERTER(GAUGE, "tip_y", "N", 1e-2f),
            CONVERTER(PRESSURE, "tank", "Pa", 500.0f),
            CONVERTER(GYRO, "base", "rad/s", 2e-3f),
        },
};
