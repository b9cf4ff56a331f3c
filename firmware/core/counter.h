/* A counter of 32 bits that wraps, extended to 64; it must be read at least once per wrap. */
#ifndef GRANITE_COUNTER_H
#define GRANITE_COUNTER_H

#include <stdint.h>

struct counter {
    uint64_t value;
};

static inline uint64_t counter_extend(struct counter *counter, uint32_t read)
{
    counter->value += (uint32_t)(read - (uint32_t)counter->value);
    return counter->value;
}

#endif
