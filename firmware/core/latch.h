/* Whether outputs may act: armed by an explicit reset, made safe by the watchdog, the emergency stop or the host. */
#ifndef GRANITE_LATCH_H
#define GRANITE_LATCH_H

#include <stdbool.h>

#include "wire.h"

#define WATCHDOG_DEFAULT_US 20000u
#define WATCHDOG_LEAST_US 2000u
#define WATCHDOG_GREATEST_US 1000000u

/* Commands in a row, each within the watchdog time, before the host counts as healthy. */
#define STEADY_COMMANDS 5u
/* The host has heard one of this many newest frames. */
#define RECENT_FRAMES 8u

struct latch {
    bool armed, emergency_stop;
    uint8_t reason;
    /* Of the newest latch. No reset of before a power-on or a `HELLO` names it: it begins with a seed, and the time at
       which a host says hello is mixed into it. */
    uint32_t number;
    uint64_t latched_at;
    uint32_t watchdog_us;
    /* Of the commands: when the newest arrived, how many were steady, whether it is at rest and acknowledges. */
    uint64_t commanded_at;
    uint16_t steady;
    bool at_rest, acknowledges;
};

/* What a reset asks for. */
struct reset {
    uint32_t number;
    uint32_t watchdog_us;
};

void latch_init(struct latch *latch, uint64_t now, uint32_t seed);

/* Makes safe, if armed; the port closes the outputs of a latch that is not armed. */
void latch_now(struct latch *latch, uint64_t now, enum latch_reason reason);

/* Watches commands and the emergency stop. */
void latch_step(struct latch *latch, uint64_t now, bool emergency_stop);

/* An accepted command feeds the watchdog. */
void latch_command(struct latch *latch, uint64_t now, bool at_rest, bool acknowledges);

/* A new host: what the last one sent does not count. */
void latch_forget_host(struct latch *latch, uint64_t now);

/* Arms, or says why not. */
enum refusal latch_reset(struct latch *latch, uint64_t now, const struct reset *reset);

#endif
