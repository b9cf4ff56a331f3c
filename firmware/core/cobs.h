/* Consistent overhead byte stuffing (Cheshire and Baker, 1999): a frame without zero bytes. */
#ifndef GRANITE_COBS_H
#define GRANITE_COBS_H

#include <stddef.h>
#include <stdint.h>

/* Writes n bytes encoded to `out`, which has room for n + n / 254 + 1; returns their number. */
size_t cobs_encode(const uint8_t *bytes, size_t n, uint8_t *out);

/* Decodes n bytes in place; returns the number of decoded bytes, or -1 where a length leads beyond the end. */
ptrdiff_t cobs_decode(uint8_t *bytes, size_t n);

#endif
