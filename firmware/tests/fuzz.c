/* A fuzzer that speaks the wire format: its input is a script of frames, time and emergency stops, and CRC and COBS are added to
   each frame, because raw bytes never pass the CRC. After every step the promises of the board are checked.
   With libFuzzer (clang), or with FUZZ_RANDOM as a program of its own: fuzz-random NUMBER [SEED]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../boards/free_flyer.h"
#include "../core/bytes.h"
#include "../core/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n);

#define PROMISE(CONDITION)                                                 \
    do {                                                                   \
        if (!(CONDITION)) {                                                \
            fprintf(stderr, "broken, line %d: %s\n", __LINE__, #CONDITION); \
            abort();                                                       \
        }                                                                  \
    } while (0)

struct script {
    const uint8_t *at;
    size_t left;
};

static uint8_t next(struct script *script)
{
    if (script->left == 0)
        return 0;
    script->left--;
    return *script->at++;
}

static uint16_t next16(struct script *script)
{
    uint8_t low = next(script);
    return (uint16_t)(low | next(script) << 8);
}

struct trial {
    struct board board;
    struct world world;
    struct decoder host;
    uint64_t now, commanded_at;
    bool emergency_stop;
    uint16_t sequence;
    uint32_t seed;
    /* The reset sent last. */
    uint8_t reset[MAX_SENT_BYTES];
    size_t reset_bytes;
    uint64_t open_us[MAX_CHANNELS];
    bool valve_was_open[MAX_CHANNELS];
    uint64_t valve_opened_at[MAX_CHANNELS];
};

static void check_valve(struct trial *trial, uint8_t i)
{
    const struct board *board = &trial->board;
    bool open = board->output[i] != 0;
    PROMISE(board->output[i] == board->valve[i].open);
    if (open && !trial->valve_was_open[i])
        trial->valve_opened_at[i] = trial->now;
    if (!open && trial->valve_was_open[i] && board->latch.armed)
        PROMISE(trial->now - trial->valve_opened_at[i] >= board->valve[i].shortest_us);
    uint64_t total = valve_open_us(&board->valve[i], trial->now);
    PROMISE(total >= trial->open_us[i]);
    trial->open_us[i] = total;
    trial->valve_was_open[i] = open;
}

static void check(struct trial *trial)
{
    const struct board *board = &trial->board;
    const struct latch *latch = &board->latch;
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        const struct channel *channel = &board->layout->channel[i];
        if (channel->kind == VALVE)
            check_valve(trial, i);
        else if (is_actuator(channel))
            PROMISE(board->output[i] >= channel->low && board->output[i] <= channel->high);
        if (!latch->armed && is_actuator(channel) && channel->kind != GRIP)
            PROMISE(board->output[i] == 0);
    }
    if (latch->armed) {
        PROMISE(!latch->emergency_stop);
        PROMISE(trial->now - trial->commanded_at <= latch->watchdog_us);
        PROMISE(board_next(board, trial->now) > trial->now);
    }
}

/* Sends bytes to the board; the only answer is that to the last whole frame. */
static void send(struct trial *trial, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t out[MAX_SENT_BYTES];
        struct frame answer = {0};
        enum verdict verdict = INCOMPLETE;
        if (!board_push(&trial->board, bytes[i]))
            continue;
        bool was_armed = trial->board.latch.armed;
        struct frame asked = trial->board.frame;
        size_t size = board_answer(&trial->board, trial->now, out);
        PROMISE(size <= sizeof out);
        for (size_t k = 0; k < size; k++) {
            enum verdict one = decoder_push(&trial->host, out[k], &answer);
            verdict = one == INCOMPLETE ? verdict : one;
        }
        PROMISE(verdict == ACCEPTED);
        PROMISE(answer.answers == asked.sequence);
        if (was_armed && trial->now - trial->commanded_at > trial->board.latch.watchdog_us)
            PROMISE(!trial->board.latch.armed);
        if (asked.kind == COMMAND && answer.kind == REPORT)
            trial->commanded_at = trial->now;
        if (trial->board.latch.armed && !was_armed)
            PROMISE(asked.kind == RESET && answer.kind == REPORT);
        check(trial);
    }
}

static void send_frame(struct trial *trial, uint8_t kind, const uint8_t *payload, size_t n, uint16_t answers)
{
    uint8_t out[MAX_SENT_BYTES];
    struct frame frame = {kind, trial->sequence, answers, payload, n};
    send(trial, out, frame_encode(&frame, out));
}

static void send_command(struct trial *trial, struct script *script, bool at_rest)
{
    uint8_t payload[4 + 4 * MAX_CHANNELS] = {0};
    size_t n = 4;
    put32(payload, trial->board.layout_crc);
    for (uint8_t i = 0; i < trial->board.layout->channels; i++) {
        if (!is_actuator(&trial->board.layout->channel[i]))
            continue;
        if (!at_rest) {
            put16(payload + n, next16(script));
            put16(payload + n + 2, next16(script));
        }
        n += 4;
    }
    trial->sequence++;
    send_frame(trial, COMMAND, payload, n, trial->board.sequence);
}

static void send_reset(struct trial *trial, uint32_t number, uint32_t watchdog_us)
{
    uint8_t payload[8] = {0};
    put32(payload, number);
    put32(payload + 4, watchdog_us);
    trial->sequence++;
    struct frame frame = {RESET, trial->sequence, trial->board.sequence, payload, sizeof payload};
    trial->reset_bytes = frame_encode(&frame, trial->reset);
    send(trial, trial->reset, trial->reset_bytes);
}

static void wait(struct trial *trial, uint64_t us)
{
    trial->now += us;
    board_step(&trial->board, trial->now, trial->emergency_stop);
    check(trial);
}

/* A power-on, a healthy host, and the bytes of a reset that a buffer has kept from before. */
static void brown_out(struct trial *trial, struct script *script)
{
    struct board *board = &trial->board;
    trial->seed += 0x9E3779B9u;
    board_init(board, board->layout, trial->now, trial->seed);
    memset(trial->open_us, 0, sizeof trial->open_us);
    memset(trial->valve_was_open, 0, sizeof trial->valve_was_open);
    trial->sequence = (uint16_t)(trial->sequence - 10u);
    send_frame(trial, HELLO, NULL, 0, 0);
    for (int i = 0; i < 6; i++) {
        wait(trial, 1000);
        send_command(trial, script, true);
    }
    send(trial, trial->reset, trial->reset_bytes);
    PROMISE(!board->latch.armed);
}

/* One line of the script. */
static void act(struct trial *trial, struct script *script)
{
    uint8_t payload[MAX_SENT_BYTES], channel, action = next(script);
    size_t n;
    switch (action % 13) {
    case 0:
        trial->sequence = next16(script);
        send_frame(trial, HELLO, NULL, 0, 0);
        break;
    case 1:
        channel = next(script);
        trial->sequence++;
        send_frame(trial, DESCRIBE, &channel, 1, 0);
        break;
    case 2:
        send_command(trial, script, false);
        break;
    case 3: /* what a healthy host does to arm */
        for (int i = 0; i < 6; i++) {
            wait(trial, 1000);
            send_command(trial, script, true);
        }
        send_reset(trial, trial->board.latch.number, 2000u + next16(script));
        break;
    case 4: /* a reset out of the blue, half of the time of the present latch */
        n = next16(script);
        send_reset(trial, action & 16 ? trial->board.latch.number : (uint32_t)n, (uint32_t)next16(script) << (action >> 5));
        break;
    case 5:
        send_frame(trial, STOP, NULL, 0, 0);
        break;
    case 6: /* any frame */
        n = next16(script) % (MAX_PAYLOAD_BYTES + 1);
        for (size_t i = 0; i < n; i++)
            payload[i] = next(script);
        trial->sequence = (uint16_t)(trial->sequence + (int8_t)next(script));
        send_frame(trial, next(script), payload, n, next16(script));
        break;
    case 7: /* any bytes */
        n = next(script);
        for (size_t i = 0; i < n; i++)
            payload[i] = next(script);
        send(trial, payload, n);
        break;
    case 8: /* the outside */
        for (n = next(script); n > 0; n--)
            world_push(&trial->world, &trial->board, next(script));
        world_outputs(&trial->world, &trial->board, trial->now, payload);
        break;
    case 9:
        trial->emergency_stop = (action & 0x30) == 0x30;
        wait(trial, next16(script));
        break;
    case 10: /* a command that comes before the board had time for a step */
        trial->now += next16(script);
        send_command(trial, script, action & 16);
        break;
    case 11:
        brown_out(trial, script);
        break;
    default:
        wait(trial, next(script));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n)
{
    static struct trial trial;
    struct script script = {input, n};
    memset(&trial, 0, sizeof trial);
    trial.now = (uint64_t)next16(&script) << 24;
    board_init(&trial.board, &FREE_FLYER, trial.now, trial.seed);
    check(&trial);
    while (script.left > 0)
        act(&trial, &script);
    return 0;
}

#ifdef FUZZ_RANDOM
static uint64_t state;

/* xorshift64 (Marsaglia 2003). */
static uint8_t random_byte(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint8_t)(state >> 32);
}

int main(int n, char **words)
{
    static uint8_t input[1024];
    long trials = n > 1 ? atol(words[1]) : 1000;
    state = 88172645463325252u + (n > 2 ? (uint64_t)atol(words[2]) : 0);
    for (long i = 0; i < trials; i++) {
        for (size_t k = 0; k < sizeof input; k++)
            input[k] = random_byte();
        LLVMFuzzerTestOneInput(input, sizeof input);
    }
    printf("%ld scripts\n", trials);
    return 0;
}
#endif
