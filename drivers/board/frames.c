/* The frames of the firmware's core for the host: one call for each frame. frame_kernel.py puts the core in front. */

struct taken {
    uint16_t verdict, is_within_frame, version, kind, sequence, answers, payload_bytes;
    uint8_t payload[MAX_PAYLOAD_BYTES];
};

/* Takes bytes up to the end of a frame, or all of them; returns how many. */
size_t take_frame(struct decoder *decoder, const uint8_t *bytes, size_t n, struct taken *taken)
{
    taken->verdict = INCOMPLETE;
    for (size_t i = 0; i < n; i++) {
        struct frame frame;
        enum verdict verdict = decoder_push(decoder, bytes[i], &frame);
        if (verdict == INCOMPLETE)
            continue;
        taken->verdict = (uint16_t)verdict;
        if (verdict == ACCEPTED || verdict == BAD_VERSION) {
            taken->version = decoder->bytes[0];
            taken->kind = frame.kind;
            taken->sequence = frame.sequence;
            taken->answers = frame.answers;
            taken->payload_bytes = (uint16_t)frame.payload_bytes;
            memcpy(taken->payload, frame.payload, frame.payload_bytes);
        }
        n = i + 1;
    }
    taken->is_within_frame = decoder->n > 0;
    return n;
}

size_t sizeof_decoder(void)
{
    return sizeof(struct decoder);
}

size_t encode_frame(int kind, int sequence, int answers, const uint8_t *payload, size_t n, uint8_t *out)
{
    struct frame frame = {(uint8_t)kind, (uint16_t)sequence, (uint16_t)answers, payload, n};
    return frame_encode(&frame, out);
}
