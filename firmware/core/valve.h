/* A valve that the board times: one pulse per command, no shorter than the valve can open. */
#ifndef GRANITE_VALVE_H
#define GRANITE_VALVE_H

#include <stdbool.h>
#include <stdint.h>

/* No event is planned. */
#define NEVER UINT64_MAX

struct valve {
    bool open;
    /* The pulse that the newest command asks for, in board time [us]; empty where both are equal. */
    uint64_t opens_at, closes_at;
    uint64_t opened_at;
    /* Time open in pulses that have ended [us]. */
    uint64_t open_us;
    uint32_t shortest_us;
};

/* Replaces the planned pulse. */
void valve_command(struct valve *valve, uint64_t now, uint32_t delay_us, uint32_t on_us);

/* Opens or closes the valve as planned. */
void valve_step(struct valve *valve, uint64_t now);

/* Closes at once, whatever the shortest pulse is, and forgets the planned one. */
void valve_close(struct valve *valve, uint64_t now);

/* Board time at which the valve must be stepped next after `now`, to which it has been stepped, or NEVER. */
uint64_t valve_next(const struct valve *valve, uint64_t now);

/* Time open since power-on [us]. */
uint64_t valve_open_us(const struct valve *valve, uint64_t now);

#endif
