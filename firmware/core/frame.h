/* Frames: encoded to bytes, and found in a stream of bytes. */
#ifndef GRANITE_FRAME_H
#define GRANITE_FRAME_H

#include "wire.h"

struct frame {
    uint8_t kind;
    uint16_t sequence, answers;
    const uint8_t *payload;
    size_t payload_bytes;
};

/* Writes the frame with its zeros to `out`, which has room for MAX_SENT_BYTES; returns the number of bytes. */
size_t frame_encode(const struct frame *frame, uint8_t *out);

struct decoder {
    uint8_t bytes[MAX_ENCODED_BYTES];
    size_t n;
    /* More bytes came than a frame can have: the rest is passed over up to the next zero. */
    uint8_t overflowed;
    uint16_t count[VERDICTS];
};

/* Takes one byte. ACCEPTED: `frame` has the frame; its payload is valid until the next byte is taken.
   BAD_VERSION: `frame` has kind and sequence, for a refusal. */
enum verdict decoder_push(struct decoder *decoder, uint8_t byte, struct frame *frame);

#endif
