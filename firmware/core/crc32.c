#include "crc32.h"

/* The remainders of the sixteen values of half a byte: 64 bytes of table are enough at these rates. */
static const uint32_t REMAINDER[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t crc32(uint32_t before, const uint8_t *bytes, size_t n)
{
    uint32_t crc = ~before;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = REMAINDER[crc & 15u] ^ (crc >> 4);
        crc = REMAINDER[crc & 15u] ^ (crc >> 4);
    }
    return ~crc;
}
