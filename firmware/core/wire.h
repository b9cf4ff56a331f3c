/* Numbers of the wire format, as docs/wire.md has them. */
#ifndef GRANITE_WIRE_H
#define GRANITE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 2u

#define HEADER_BYTES 6u
#define CRC_BYTES 4u
#define MAX_FRAME_BYTES 300u
#define MAX_PAYLOAD_BYTES (MAX_FRAME_BYTES - HEADER_BYTES - CRC_BYTES)
/* COBS adds one byte for every 254 begun. */
#define MAX_ENCODED_BYTES (MAX_FRAME_BYTES + MAX_FRAME_BYTES / 254u + 1u)
/* With the zero in front and the one behind. */
#define MAX_SENT_BYTES (MAX_ENCODED_BYTES + 2u)

#define NAME_BYTES 16u
#define UNIT_BYTES 8u
#define SERIAL_BYTES 12u

#define BOARD_BYTES 72u
#define CHANNEL_BYTES 40u
#define REPORT_BYTES 30u
#define MAX_CHANNELS ((MAX_PAYLOAD_BYTES - REPORT_BYTES) / 4u)

/* Valve times on the wire are counts of this. */
#define VALVE_COUNT_US 10u

enum kind {
    HELLO = 0x01,
    DESCRIBE = 0x02,
    COMMAND = 0x03,
    RESET = 0x04,
    STOP = 0x05,
    BOARD = 0x81,
    CHANNEL = 0x82,
    REPORT = 0x83,
    REFUSAL = 0x84,
    /* On the second line of an emulated board: docs/firmware.md. */
    WORLD_INPUTS = 0x41,
    WORLD_OUTPUTS = 0xC1
};

/* What became of the bytes between two zeros. */
enum verdict { INCOMPLETE, ACCEPTED, OVERSIZE, BAD_COBS, SHORT, BAD_CRC, BAD_VERSION, VERDICTS };

enum refusal {
    NOT_REFUSED,
    UNKNOWN_KIND,
    BAD_LENGTH,
    NO_SUCH_CHANNEL,
    WRONG_VERSION,
    NO_SESSION,
    OUT_OF_ORDER,
    WRONG_LAYOUT,
    OTHER_LATCH,
    EMERGENCY_STOP,
    NOT_STEADY,
    NOT_ACKNOWLEDGED,
    NOT_AT_REST,
    WATCHDOG_RANGE
};

enum latch_reason { LATCH_POWER_ON = 1, LATCH_WATCHDOG, LATCH_EMERGENCY_STOP, LATCH_STOP, LATCH_HELLO };

enum report_flag { FLAG_ARMED = 1, FLAG_EMERGENCY_STOP = 2, FLAG_LIMITED = 4 };

enum channel_kind {
    VALVE = 1,
    MOTOR = 2,
    WHEEL = 3,
    GRIP = 4,
    FIRST_SENSOR = 16,
    ENCODER = 16,
    RATE = 17,
    GAUGE = 18,
    PRESSURE = 19,
    GYRO = 20,
    ACCELEROMETER = 21
};

#endif
