#include "world.h"

#include "bytes.h"

bool world_push(struct world *world, struct board *board, uint8_t byte)
{
    struct frame frame;
    const struct layout *layout = board->layout;
    if (decoder_push(&world->decoder, byte, &frame) != ACCEPTED || frame.kind != WORLD_INPUTS)
        return false;
    size_t sensors = 0;
    for (uint8_t i = 0; i < layout->channels; i++)
        sensors += !is_actuator(&layout->channel[i]);
    if (frame.payload_bytes != 4 + 4 * sensors)
        return false;
    world->emergency_stop = frame.payload[0] != 0;
    const uint8_t *slot = frame.payload + 4;
    for (uint8_t i = 0; i < layout->channels; i++) {
        if (!is_actuator(&layout->channel[i])) {
            board->sensed[i] = (int32_t)get32(slot);
            slot += 4;
        }
    }
    return true;
}

size_t world_outputs(struct world *world, const struct board *board, uint64_t now, uint8_t *out)
{
    uint8_t payload[8 + 4 * MAX_CHANNELS];
    struct frame frame = {.kind = WORLD_OUTPUTS, .payload = payload, .payload_bytes = 8};
    bool changed = !world->greeted;
    put64(payload, now);
    for (uint8_t i = 0; i < board->layout->channels; i++) {
        if (!is_actuator(&board->layout->channel[i]))
            continue;
        changed |= board->output[i] != world->sent[i];
        world->sent[i] = board->output[i];
        put32(payload + frame.payload_bytes, (uint32_t)board->output[i]);
        frame.payload_bytes += 4;
    }
    if (!changed)
        return 0;
    world->greeted = true;
    frame.sequence = ++world->sequence;
    return frame_encode(&frame, out);
}
