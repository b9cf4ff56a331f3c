#include "frame.h"

#include <string.h>

#include "bytes.h"
#include "cobs.h"
#include "crc32.h"

size_t frame_encode(const struct frame *frame, uint8_t *out)
{
    uint8_t raw[MAX_FRAME_BYTES];
    size_t n = HEADER_BYTES + frame->payload_bytes;
    raw[0] = WIRE_VERSION;
    raw[1] = frame->kind;
    put16(raw + 2, frame->sequence);
    put16(raw + 4, frame->answers);
    if (frame->payload_bytes > 0)
        memcpy(raw + HEADER_BYTES, frame->payload, frame->payload_bytes);
    put32(raw + n, crc32(0, raw, n));
    out[0] = 0;
    size_t encoded = cobs_encode(raw, n + CRC_BYTES, out + 1);
    out[1 + encoded] = 0;
    return encoded + 2;
}

static enum verdict judge(struct decoder *decoder, struct frame *frame)
{
    if (decoder->overflowed)
        return OVERSIZE;
    ptrdiff_t decoded = cobs_decode(decoder->bytes, decoder->n);
    if (decoded < 0)
        return BAD_COBS;
    size_t n = (size_t)decoded;
    if (n < HEADER_BYTES + CRC_BYTES)
        return SHORT;
    if (n > MAX_FRAME_BYTES)
        return OVERSIZE;
    const uint8_t *raw = decoder->bytes;
    if (crc32(0, raw, n - CRC_BYTES) != get32(raw + n - CRC_BYTES))
        return BAD_CRC;
    frame->kind = raw[1];
    frame->sequence = get16(raw + 2);
    frame->answers = get16(raw + 4);
    frame->payload = raw + HEADER_BYTES;
    frame->payload_bytes = n - HEADER_BYTES - CRC_BYTES;
    return raw[0] == WIRE_VERSION ? ACCEPTED : BAD_VERSION;
}

enum verdict decoder_push(struct decoder *decoder, uint8_t byte, struct frame *frame)
{
    if (byte != 0) {
        if (decoder->n == MAX_ENCODED_BYTES)
            decoder->overflowed = 1;
        else
            decoder->bytes[decoder->n++] = byte;
        return INCOMPLETE;
    }
    if (decoder->n == 0)
        return INCOMPLETE;
    enum verdict verdict = judge(decoder, frame);
    decoder->count[verdict]++;
    decoder->n = 0;
    decoder->overflowed = 0;
    return verdict;
}
