#include "cobs.h"

#define LONGEST 255u

size_t cobs_encode(const uint8_t *bytes, size_t n, uint8_t *out)
{
    size_t length_at = 0, end = 1;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0)
            out[end++] = bytes[i];
        size_t length = end - length_at;
        /* A full block stands for no zero; if nothing follows it, no block follows either. */
        if (bytes[i] == 0 || (length == LONGEST && i + 1 < n)) {
            out[length_at] = (uint8_t)length;
            length_at = end++;
        }
    }
    out[length_at] = (uint8_t)(end - length_at);
    return end;
}

ptrdiff_t cobs_decode(uint8_t *bytes, size_t n)
{
    size_t end = 0;
    for (size_t i = 0; i < n;) {
        size_t length = bytes[i];
        if (length == 0 || i + length > n)
            return -1;
        for (size_t k = 1; k < length; k++)
            bytes[end++] = bytes[i + k];
        i += length;
        if (length < LONGEST && i < n)
            bytes[end++] = 0;
    }
    return (ptrdiff_t)end;
}
