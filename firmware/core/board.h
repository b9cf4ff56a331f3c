/* The board: it judges every frame, applies commands to its channels and answers. Portable; a port feeds it bytes, time,
   sensors and the emergency stop, and drives the pins from `output`. */
#ifndef GRANITE_BOARD_H
#define GRANITE_BOARD_H

#include "frame.h"
#include "latch.h"
#include "valve.h"

#define FIRMWARE_VERSION "1.1.0"

struct channel {
    uint8_t kind;
    char name[NAME_BYTES];
    char unit[UNIT_BYTES];
    float scale;
    int32_t low, high;
};

struct layout {
    char name[NAME_BYTES];
    uint8_t serial[SERIAL_BYTES];
    uint8_t channels;
    struct channel channel[MAX_CHANNELS];
};

struct board {
    const struct layout *layout;
    uint32_t layout_crc;
    struct decoder decoder;
    struct frame frame;
    enum verdict verdict;
    struct latch latch;
    struct valve valve[MAX_CHANNELS];
    /* By channel. Sensors: set by the port before `board_answer`. Outputs: counts, or 1 for an open valve. */
    int32_t sensed[MAX_CHANNELS];
    int32_t output[MAX_CHANNELS];
    bool session, limited;
    uint16_t sequence, heard, missed, refused;
    uint64_t stepped_at;
    /* The longest delay of a step behind the time it was due, since the last report. */
    uint16_t late_us;
};

/* A seed that differs from one power-on to the next, as far as the port has one: it begins the numbers of latches. */
void board_init(struct board *board, const struct layout *layout, uint64_t now, uint32_t seed);

/* Takes one received byte; true where a frame is complete and `board_answer` must be called. */
bool board_push(struct board *board, uint8_t byte);

/* Handles the complete frame; writes the answer to `out` (MAX_SENT_BYTES) and returns its number of bytes. */
size_t board_answer(struct board *board, uint64_t now, uint8_t *out);

/* Watchdog, emergency stop and valve timing; sets `output`. Called as often as the port can. */
void board_step(struct board *board, uint64_t now, bool emergency_stop);

/* Board time at which the next step is needed, or NEVER: a port may sleep until then or until a byte comes. */
uint64_t board_next(const struct board *board, uint64_t now);

static inline bool is_actuator(const struct channel *channel)
{
    return channel->kind < FIRST_SENSOR;
}

#endif
