#include "latch.h"

#include "bytes.h"
#include "crc32.h"

static void make_safe(struct latch *latch, uint64_t now, enum latch_reason reason)
{
    latch->armed = false;
    latch->reason = (uint8_t)reason;
    latch->number++;
    latch->latched_at = now;
}

void latch_init(struct latch *latch, uint64_t now, uint32_t seed)
{
    *latch = (struct latch){.number = seed, .watchdog_us = WATCHDOG_DEFAULT_US};
    make_safe(latch, now, LATCH_POWER_ON);
}

void latch_now(struct latch *latch, uint64_t now, enum latch_reason reason)
{
    if (latch->armed)
        make_safe(latch, now, reason);
}

/* Whether commands have been silent for longer than a watchdog allows. */
static bool is_silent(const struct latch *latch, uint64_t now, uint32_t watchdog_us)
{
    return now - latch->commanded_at > watchdog_us;
}

void latch_step(struct latch *latch, uint64_t now, bool emergency_stop)
{
    latch->emergency_stop = emergency_stop;
    if (emergency_stop)
        latch_now(latch, now, LATCH_EMERGENCY_STOP);
    if (is_silent(latch, now, latch->watchdog_us)) {
        latch->steady = 0;
        latch_now(latch, now, LATCH_WATCHDOG);
    }
}

void latch_command(struct latch *latch, uint64_t now, bool at_rest, bool acknowledges)
{
    if (latch->steady < STEADY_COMMANDS)
        latch->steady++;
    latch->commanded_at = now;
    latch->at_rest = at_rest;
    latch->acknowledges = acknowledges;
}

void latch_forget_host(struct latch *latch, uint64_t now)
{
    uint8_t time[8];
    put64(time, now);
    latch->number = crc32(latch->number, time, sizeof time);
    latch->steady = 0;
}

enum refusal latch_reset(struct latch *latch, uint64_t now, const struct reset *reset)
{
    if (reset->number != latch->number)
        return OTHER_LATCH;
    if (latch->emergency_stop)
        return EMERGENCY_STOP;
    if (latch->steady < STEADY_COMMANDS || is_silent(latch, now, latch->watchdog_us))
        return NOT_STEADY;
    if (!latch->acknowledges)
        return NOT_ACKNOWLEDGED;
    if (!latch->at_rest)
        return NOT_AT_REST;
    if (reset->watchdog_us < WATCHDOG_LEAST_US || reset->watchdog_us > WATCHDOG_GREATEST_US)
        return WATCHDOG_RANGE;
    /* The new watchdog may be shorter than the one in force: it must not have expired already. */
    if (is_silent(latch, now, reset->watchdog_us))
        return NOT_STEADY;
    latch->watchdog_us = reset->watchdog_us;
    latch->armed = true;
    return NOT_REFUSED;
}
