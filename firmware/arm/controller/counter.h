/* The counter that the replay of an exported controller reads. */
#ifndef GRANITE_COUNTER_OF_REPLAY_H
#define GRANITE_COUNTER_OF_REPLAY_H
#include <stdint.h>
uint32_t machine_counter(void);
#define COUNTER machine_counter
#endif
