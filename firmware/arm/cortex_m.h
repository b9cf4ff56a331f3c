/* Registers that every Cortex-M has. */
#ifndef GRANITE_CORTEX_M_H
#define GRANITE_CORTEX_M_H

#include <stdint.h>

#define REGISTER(ADDRESS) (*(volatile uint32_t *)(ADDRESS))

#define SYSTICK_CONTROL REGISTER(0xE000E010u)
#define SYSTICK_RELOAD REGISTER(0xE000E014u)
#define SYSTICK_VALUE REGISTER(0xE000E018u)

static inline void enable_interrupt(unsigned number)
{
    REGISTER(0xE000E100u + 4u * (number / 32u)) = 1u << (number % 32u);
}

/* SysTick as an alarm clock every so many processor cycles. */
static inline void wake_every(uint32_t cycles)
{
    SYSTICK_RELOAD = cycles - 1u;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 7u;
}

static inline void sleep_until_interrupt(void)
{
    __asm volatile("wfi");
}

#endif
