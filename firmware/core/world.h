/* The outside of an emulated board, over a second line of frames: sensors and emergency stop in, outputs out. */
#ifndef GRANITE_WORLD_H
#define GRANITE_WORLD_H

#include "board.h"

struct world {
    struct decoder decoder;
    bool emergency_stop, greeted;
    uint16_t sequence;
    /* By channel, as last sent. */
    int32_t sent[MAX_CHANNELS];
};

/* Takes one received byte; complete inputs are put into the board's sensors: true with their last byte. */
bool world_push(struct world *world, struct board *board, uint8_t byte);

/* Writes the outputs to `out` (MAX_SENT_BYTES) if one has changed, or none was sent yet; returns the number of bytes. */
size_t world_outputs(struct world *world, const struct board *board, uint64_t now, uint8_t *out);

#endif
