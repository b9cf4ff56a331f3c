#include "board.h"

#include <string.h>

#include "bytes.h"
#include "crc32.h"

static size_t describe_channel(const struct layout *layout, uint8_t i, uint8_t *out)
{
    const struct channel *channel = &layout->channel[i];
    uint32_t scale;
    memcpy(&scale, &channel->scale, sizeof scale);
    out[0] = i;
    out[1] = channel->kind;
    put16(out + 2, 0);
    memcpy(out + 4, channel->name, NAME_BYTES);
    memcpy(out + 20, channel->unit, UNIT_BYTES);
    put32(out + 28, scale);
    put32(out + 32, (uint32_t)channel->low);
    put32(out + 36, (uint32_t)channel->high);
    return CHANNEL_BYTES;
}

static size_t describe_board(const struct board *board, uint64_t now, uint8_t *out)
{
    memset(out, 0, BOARD_BYTES);
    memcpy(out, board->layout->name, NAME_BYTES);
    memcpy(out + 16, FIRMWARE_VERSION, sizeof FIRMWARE_VERSION);
    memcpy(out + 32, board->layout->serial, SERIAL_BYTES);
    out[44] = board->layout->channels;
    put32(out + 48, board->layout_crc);
    put32(out + 52, board->latch.watchdog_us);
    put32(out + 56, WATCHDOG_LEAST_US);
    put32(out + 60, WATCHDOG_GREATEST_US);
    put64(out + 64, now);
    return BOARD_BYTES;
}

static uint16_t damaged(const struct decoder *decoder)
{
    unsigned sum = 0;
    for (int verdict = OVERSIZE; verdict < VERDICTS; verdict++)
        sum += decoder->count[verdict];
    return (uint16_t)sum;
}

static uint32_t reported(const struct board *board, uint8_t i, uint64_t now)
{
    const struct channel *channel = &board->layout->channel[i];
    if (channel->kind == VALVE)
        return (uint32_t)(valve_open_us(&board->valve[i], now) / VALVE_COUNT_US);
    return (uint32_t)(is_actuator(channel) ? board->output[i] : board->sensed[i]);
}

static size_t report(struct board *board, uint64_t now, uint8_t *out)
{
    const struct latch *latch = &board->latch;
    put64(out, now);
    put32(out + 8, (uint32_t)latch->commanded_at);
    put32(out + 12, (uint32_t)latch->latched_at);
    put32(out + 16, latch->number);
    out[20] = (uint8_t)((latch->armed ? FLAG_ARMED : 0) | (latch->emergency_stop ? FLAG_EMERGENCY_STOP : 0) |
                        (board->limited ? FLAG_LIMITED : 0));
    out[21] = latch->reason;
    put16(out + 22, damaged(&board->decoder));
    put16(out + 24, board->missed);
    put16(out + 26, board->refused);
    put16(out + 28, board->late_us);
    board->late_us = 0;
    for (uint8_t i = 0; i < board->layout->channels; i++)
        put32(out + REPORT_BYTES + 4u * i, reported(board, i, now));
    return REPORT_BYTES + 4u * board->layout->channels;
}

/* Valves closed, motors and wheels at zero, grips as they are. */
static void make_outputs_safe(struct board *board, uint64_t now)
{
    board->limited = false;
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        uint8_t kind = board->layout->channel[i].kind;
        if (kind == VALVE)
            valve_close(&board->valve[i], now);
        if (kind == VALVE || kind == MOTOR || kind == WHEEL)
            board->output[i] = 0;
    }
}

static int32_t limit(const struct channel *channel, int32_t value)
{
    return value < channel->low ? channel->low : value > channel->high ? channel->high : value;
}

/* A command holds no pulse and no torque; the state of a grip does not matter. */
static bool is_at_rest(const struct layout *layout, const uint8_t *slot)
{
    for (uint8_t i = 0; i < layout->channels; i++) {
        const struct channel *channel = &layout->channel[i];
        if (!is_actuator(channel))
            continue;
        if (channel->kind == VALVE ? get16(slot + 2) != 0 : channel->kind != GRIP && get32(slot) != 0)
            return false;
        slot += 4;
    }
    return true;
}

static void apply(struct board *board, const uint8_t *slot, uint64_t now)
{
    board->limited = false;
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        const struct channel *channel = &board->layout->channel[i];
        if (!is_actuator(channel))
            continue;
        if (channel->kind == VALVE) {
            int32_t wanted = get16(slot + 2), on = wanted > channel->high ? channel->high : wanted;
            valve_command(&board->valve[i], now, get16(slot) * VALVE_COUNT_US, (uint32_t)on * VALVE_COUNT_US);
            board->output[i] = board->valve[i].open;
            board->limited |= on != wanted;
        } else {
            int32_t value = (int32_t)get32(slot);
            board->output[i] = limit(channel, value);
            board->limited |= board->output[i] != value;
        }
        slot += 4;
    }
}

static size_t slots(const struct layout *layout)
{
    size_t n = 0;
    for (uint8_t i = 0; i < layout->channels; i++)
        n += is_actuator(&layout->channel[i]);
    return n;
}

static enum refusal command(struct board *board, uint64_t now)
{
    const struct frame *frame = &board->frame;
    if (get32(frame->payload) != board->layout_crc)
        return WRONG_LAYOUT;
    const uint8_t *slot = frame->payload + 4;
    bool hears = (uint16_t)(board->sequence - frame->answers) < RECENT_FRAMES;
    latch_command(&board->latch, now, is_at_rest(board->layout, slot), hears);
    if (board->latch.armed)
        apply(board, slot, now);
    return NOT_REFUSED;
}

static enum refusal reset(struct board *board, uint64_t now)
{
    const uint8_t *payload = board->frame.payload;
    struct reset wanted = {.number = get32(payload), .watchdog_us = get32(payload + 4)};
    return latch_reset(&board->latch, now, &wanted);
}

static void hello(struct board *board, uint64_t now)
{
    latch_now(&board->latch, now, LATCH_HELLO);
    latch_forget_host(&board->latch, now);
    memset(board->decoder.count, 0, sizeof board->decoder.count);
    board->missed = board->refused = 0;
    board->session = true;
    board->heard = board->frame.sequence;
}

/* The number of payload bytes of each kind that a host may send; -1 for the others. */
static ptrdiff_t expected_bytes(const struct board *board, uint8_t kind)
{
    switch (kind) {
    case HELLO:
    case STOP:
        return 0;
    case DESCRIBE:
        return 1;
    case COMMAND:
        return (ptrdiff_t)(4 + 4 * slots(board->layout));
    case RESET:
        return 8;
    default:
        return -1;
    }
}

static enum refusal judge(struct board *board)
{
    const struct frame *frame = &board->frame;
    if (board->verdict == BAD_VERSION)
        return WRONG_VERSION;
    ptrdiff_t expected = expected_bytes(board, frame->kind);
    if (expected < 0)
        return UNKNOWN_KIND;
    if (frame->payload_bytes != (size_t)expected)
        return BAD_LENGTH;
    if (frame->kind == HELLO || frame->kind == STOP)
        return NOT_REFUSED;
    if (!board->session)
        return NO_SESSION;
    uint16_t ahead = (uint16_t)(frame->sequence - board->heard);
    if (ahead == 0 || ahead > INT16_MAX)
        return OUT_OF_ORDER;
    board->missed = (uint16_t)(board->missed + ahead - 1);
    board->heard = frame->sequence;
    if (frame->kind == DESCRIBE && frame->payload[0] >= board->layout->channels)
        return NO_SUCH_CHANNEL;
    return NOT_REFUSED;
}

static enum refusal obey(struct board *board, uint64_t now)
{
    switch (board->frame.kind) {
    case HELLO:
        hello(board, now);
        return NOT_REFUSED;
    case STOP:
        latch_now(&board->latch, now, LATCH_STOP);
        return NOT_REFUSED;
    case COMMAND:
        return command(board, now);
    case RESET:
        return reset(board, now);
    default:
        return NOT_REFUSED;
    }
}

void board_init(struct board *board, const struct layout *layout, uint64_t now, uint32_t seed)
{
    memset(board, 0, sizeof *board);
    board->layout = layout;
    board->stepped_at = now;
    board->layout_crc = crc32(0, (const uint8_t *)layout->name, NAME_BYTES);
    for (uint8_t i = 0; i < layout->channels; i++) {
        uint8_t described[CHANNEL_BYTES];
        describe_channel(layout, i, described);
        board->layout_crc = crc32(board->layout_crc, described, sizeof described);
        if (layout->channel[i].kind == VALVE)
            board->valve[i].shortest_us = (uint32_t)layout->channel[i].low * VALVE_COUNT_US;
    }
    latch_init(&board->latch, now, seed);
}

bool board_push(struct board *board, uint8_t byte)
{
    board->verdict = decoder_push(&board->decoder, byte, &board->frame);
    return board->verdict == ACCEPTED || board->verdict == BAD_VERSION;
}

size_t board_answer(struct board *board, uint64_t now, uint8_t *out)
{
    uint8_t payload[MAX_PAYLOAD_BYTES];
    struct frame answer = {.sequence = ++board->sequence, .answers = board->frame.sequence, .payload = payload};
    /* A command that came too late must find the watchdog's latch, not outrun it. */
    board_step(board, now, board->latch.emergency_stop);
    enum refusal refusal = judge(board);
    if (refusal == NOT_REFUSED)
        refusal = obey(board, now);
    if (!board->latch.armed)
        make_outputs_safe(board, now);
    if (refusal != NOT_REFUSED) {
        board->refused++;
        answer.kind = REFUSAL;
        payload[0] = board->frame.kind;
        payload[1] = (uint8_t)refusal;
        put16(payload + 2, board->frame.sequence);
        answer.payload_bytes = 4;
    } else if (board->frame.kind == HELLO) {
        answer.kind = BOARD;
        answer.payload_bytes = describe_board(board, now, payload);
    } else if (board->frame.kind == DESCRIBE) {
        answer.kind = CHANNEL;
        answer.payload_bytes = describe_channel(board->layout, board->frame.payload[0], payload);
    } else {
        answer.kind = REPORT;
        answer.payload_bytes = report(board, now, payload);
    }
    return frame_encode(&answer, out);
}

void board_step(struct board *board, uint64_t now, bool emergency_stop)
{
    uint64_t due = board_next(board, board->stepped_at);
    uint64_t late = now > due ? now - due : 0;
    if (late > board->late_us)
        board->late_us = late < UINT16_MAX ? (uint16_t)late : UINT16_MAX;
    board->stepped_at = now;
    latch_step(&board->latch, now, emergency_stop);
    if (!board->latch.armed) {
        make_outputs_safe(board, now);
        return;
    }
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        if (board->layout->channel[i].kind == VALVE) {
            valve_step(&board->valve[i], now);
            board->output[i] = board->valve[i].open;
        }
    }
}

uint64_t board_next(const struct board *board, uint64_t now)
{
    if (!board->latch.armed)
        return NEVER;
    uint64_t next = board->latch.commanded_at + board->latch.watchdog_us + 1;
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        if (board->layout->channel[i].kind == VALVE) {
            uint64_t valve = valve_next(&board->valve[i], now);
            next = valve < next ? valve : next;
        }
    }
    return next;
}
