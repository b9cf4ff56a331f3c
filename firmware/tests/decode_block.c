/* The decoder over a block of bytes, for tests from outside: the verdict of each frame and a CRC of its content. */
#include "../core/bytes.h"
#include "../core/crc32.h"
#include "../core/frame.h"

size_t decode_block(struct decoder *decoder, const uint8_t *bytes, size_t n, uint8_t *verdict, uint32_t *content);

/* Returns the number of verdicts; `verdict` and `content` have room for n / 2 + 1. */
size_t decode_block(struct decoder *decoder, const uint8_t *bytes, size_t n, uint8_t *verdict, uint32_t *content)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct frame frame;
        enum verdict one = decoder_push(decoder, bytes[i], &frame);
        if (one == INCOMPLETE)
            continue;
        verdict[found] = (uint8_t)one;
        content[found] = 0;
        if (one == ACCEPTED) {
            uint8_t header[5] = {frame.kind};
            put16(header + 1, frame.sequence);
            put16(header + 3, frame.answers);
            content[found] = crc32(crc32(0, header, sizeof header), frame.payload, frame.payload_bytes);
        }
        found++;
    }
    return found;
}
