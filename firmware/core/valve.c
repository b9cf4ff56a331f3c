#include "valve.h"

void valve_command(struct valve *valve, uint64_t now, uint32_t delay_us, uint32_t on_us)
{
    valve->opens_at = now + delay_us;
    valve->closes_at = valve->opens_at + on_us;
    valve_step(valve, now);
}

/* An open valve stays open for the shortest pulse, also where the command is shorter or a new one asks for nothing. */
static uint64_t may_close_at(const struct valve *valve)
{
    return valve->opened_at + valve->shortest_us;
}

void valve_step(struct valve *valve, uint64_t now)
{
    bool wanted = valve->opens_at <= now && now < valve->closes_at;
    if (wanted && !valve->open) {
        valve->open = true;
        valve->opened_at = now;
    } else if (!wanted && valve->open && now >= may_close_at(valve)) {
        valve->open = false;
        valve->open_us += now - valve->opened_at;
    }
}

void valve_close(struct valve *valve, uint64_t now)
{
    if (valve->open)
        valve->open_us += now - valve->opened_at;
    valve->open = false;
    valve->opens_at = valve->closes_at = 0;
}

uint64_t valve_next(const struct valve *valve, uint64_t now)
{
    if (!valve->open)
        return now < valve->closes_at && valve->opens_at < valve->closes_at ? valve->opens_at : NEVER;
    uint64_t may = may_close_at(valve);
    return valve->opens_at <= now && valve->closes_at > may ? valve->closes_at : may;
}

uint64_t valve_open_us(const struct valve *valve, uint64_t now)
{
    return valve->open_us + (valve->open ? now - valve->opened_at : 0);
}
