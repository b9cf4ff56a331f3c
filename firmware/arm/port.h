/* What a microcontroller provides to arm/main.c. */
#ifndef GRANITE_PORT_H
#define GRANITE_PORT_H

#include "../core/board.h"

/* The line to the host, and in QEMU the one to the world. */
enum line { LINE_HOST, LINE_WORLD, LINES };

/* Clock, serial lines, timer, converter. */
void machine_init(void);
/* The free-running counter [us]; it wraps after 71 minutes. */
uint32_t machine_counter(void);
/* Another number after each power-on; 0 where the machine has no source of one. */
uint32_t machine_seed(void);
/* Moves received bytes to and waiting bytes from the rings; true while some still wait to be sent. */
bool machine_serve(enum line line);
/* Sleeps until the next interrupt: a byte, or SysTick. */
void machine_wait(void);

/* One byte that has arrived on a line. */
bool line_take(enum line line, uint8_t *byte);
/* Bytes to be sent; those beyond the ring's room are lost, as on a wire. */
void line_put(enum line line, const uint8_t *bytes, size_t n);
/* For `machine_serve` and interrupts. */
void line_received(enum line line, uint8_t byte);
bool line_next(enum line line, uint8_t *byte);

/* Pins (pins.c), or the world in their place (outside.c). */
void outside_init(void);
void outside_serial(uint8_t *serial);
void outside_sample(struct board *board);
bool outside_emergency_stop(struct board *board);
void outside_drive(const struct board *board);

#endif
