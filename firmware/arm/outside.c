/* In QEMU, which has no pins: the second serial line is the outside, as in the host build. */
#include <string.h>

#include "../boards/free_flyer.h"
#include "../core/counter.h"
#include "../core/world.h"
#include "port.h"

static struct world world;

/* A converter that QEMU has is read for its channels; the world gives the others. */
#pragma weak converter_read
int32_t converter_read(unsigned input);

void outside_init(void)
{
}

void outside_serial(uint8_t *serial)
{
    memcpy(serial, "in QEMU", 7);
}

void outside_sample(struct board *board)
{
    for (unsigned i = 0; converter_read && i < CONVERTED; i++)
        board->sensed[FIRST_CONVERTED + i] = converter_read(i) - CONVERTER_MIDDLE;
}

bool outside_emergency_stop(struct board *board)
{
    uint8_t byte;
    while (line_take(LINE_WORLD, &byte))
        world_push(&world, board, byte);
    return world.emergency_stop;
}

void outside_drive(const struct board *board)
{
    uint8_t out[MAX_SENT_BYTES];
    line_put(LINE_WORLD, out, world_outputs(&world, board, board->stepped_at, out));
}
