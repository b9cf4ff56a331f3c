/* CRC-32 of zlib, Ethernet and others: polynomial 0x04C11DB7, reflected. */
#ifndef GRANITE_CRC32_H
#define GRANITE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of bytes that follow those whose CRC is `before`; 0 before the first. */
uint32_t crc32(uint32_t before, const uint8_t *bytes, size_t n);

#endif
