/* Rings between the serial interrupts and the main loop. */
#include "port.h"

#define ROOM 1024u

struct ring {
    uint8_t byte[ROOM];
    volatile uint32_t put, taken;
};

static struct ring received[LINES], waiting[LINES];

static bool put(struct ring *ring, uint8_t byte)
{
    if (ring->put - ring->taken == ROOM)
        return false;
    ring->byte[ring->put % ROOM] = byte;
    ring->put++;
    return true;
}

static bool take(struct ring *ring, uint8_t *byte)
{
    if (ring->put == ring->taken)
        return false;
    *byte = ring->byte[ring->taken % ROOM];
    ring->taken++;
    return true;
}

bool line_take(enum line line, uint8_t *byte)
{
    return take(&received[line], byte);
}

void line_put(enum line line, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(&waiting[line], bytes[i]);
}

void line_received(enum line line, uint8_t byte)
{
    put(&received[line], byte);
}

bool line_next(enum line line, uint8_t *byte)
{
    return take(&waiting[line], byte);
}
