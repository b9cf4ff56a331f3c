/* STM32F405 by its registers (reference manual RM0090): clock, serial lines, timer. */
#include "../cortex_m.h"
#include "../port.h"
#include "stm32f405.h"

/* The counter's input: half the processor clock on the board; QEMU's model runs at 1 GHz. */
#ifndef TIMER_HZ
#define TIMER_HZ 84000000u
#endif
/* How often the valves are timed; in QEMU an interrupt costs much more. */
#ifndef WAKE_US
#define WAKE_US 20u
#endif

#define CORE_HZ 168000000u
#define APB2_HZ 84000000u
#define BAUD 2000000u
#define LONG_ENOUGH 100000u

static const uintptr_t USART[LINES] = {USART1, USART2};

void serial_host(void);
void serial_world(void);

static void receive(enum line line)
{
    if (REGISTER(USART[line] + USART_SR) & USART_RXNE)
        line_received(line, (uint8_t)REGISTER(USART[line] + USART_DR));
}

void serial_host(void)
{
    receive(LINE_HOST);
}

void serial_world(void)
{
    receive(LINE_WORLD);
}

/* QEMU has no clock control: a bit that never comes must not stop the start. On a board whose crystal does not start, the
   serial rate is wrong: it does not answer, and its outputs stay safe. */
static void wait_for(uint32_t address, uint32_t bit)
{
    for (uint32_t i = 0; i < LONG_ENOUGH && !(REGISTER(address) & bit); i++) {
    }
}

/* 8 MHz crystal / 8 x 336 / 2 = 168 MHz; buses at 42 and 84 MHz, their timers at twice that. */
static void start_clock(void)
{
    REGISTER(FLASH_ACR) = 0x705u; /* caches, prefetch, 5 wait states */
    REGISTER(RCC_CR) |= 1u << 16;
    wait_for(RCC_CR, 1u << 17);
    REGISTER(RCC_PLLCFGR) = 8u | 336u << 6 | 0u << 16 | 1u << 22 | 7u << 24;
    REGISTER(RCC_CR) |= 1u << 24;
    wait_for(RCC_CR, 1u << 25);
    REGISTER(RCC_CFGR) = 5u << 10 | 4u << 13 | 2u;
    wait_for(RCC_CFGR, 2u << 2);
    REGISTER(RCC_AHB1ENR) |= 7u;                              /* ports A, B, C */
    REGISTER(RCC_APB1ENR) |= 1u << 0 | 1u << 1 | 1u << 17;    /* TIM2, TIM3, USART2 */
    REGISTER(RCC_APB2ENR) |= 1u << 0 | 1u << 1 | 1u << 4 | 1u << 8; /* TIM1, TIM8, USART1, ADC1 */
}

/* The chip's own watchdog resets a firmware that hangs, 10 ms after the last time that the main loop came by. */
static void start_own_watchdog(void)
{
    REGISTER(IWDG_KR) = 0x5555u;
    REGISTER(IWDG_PR) = 0u; /* 32 kHz / 4 */
    REGISTER(IWDG_RLR) = 80u;
    REGISTER(IWDG_KR) = 0xCCCCu;
}

void machine_init(void)
{
    start_clock();
    start_own_watchdog();
    REGISTER(TIM2 + TIM_PSC) = TIMER_HZ / 1000000u - 1u;
    REGISTER(TIM2 + TIM_ARR) = 0xFFFFFFFFu;
    REGISTER(TIM2 + TIM_EGR) = 1u; /* take over the prescaler */
    REGISTER(TIM2 + TIM_CR1) = 1u;
    REGISTER(USART1 + USART_BRR) = APB2_HZ / BAUD;
    for (enum line line = LINE_HOST; line < LINES; line++)
        REGISTER(USART[line] + USART_CR1) = 1u << 13 | 1u << 5 | 1u << 3 | 1u << 2; /* on, interrupt, send, receive */
    enable_interrupt(HOST_IRQ);
    enable_interrupt(WORLD_IRQ);
    wake_every(CORE_HZ / 1000000u * WAKE_US);
}

uint32_t machine_counter(void)
{
    return REGISTER(TIM2 + TIM_CNT);
}

/* The random number generator, on the 48 MHz of the main clock. Its first number is not used (RM0090, 24.3.1). Without it,
   as in QEMU, the seed is 0. */
uint32_t machine_seed(void)
{
    uint32_t seed = 0;
    REGISTER(RCC_AHB2ENR) |= 1u << 6;
    REGISTER(RNG_CR) = 1u << 2;
    for (int i = 0; i < 2; i++) {
        wait_for(RNG_SR, RNG_READY);
        if (REGISTER(RNG_SR) & RNG_READY)
            seed = REGISTER(RNG_DR);
    }
    return REGISTER(RNG_SR) & RNG_ERRORS ? 0 : seed;
}

bool machine_serve(enum line line)
{
    uint8_t byte;
    REGISTER(IWDG_KR) = 0xAAAAu;
    while (REGISTER(USART[line] + USART_SR) & USART_TXE) {
        if (!line_next(line, &byte))
            return false;
        REGISTER(USART[line] + USART_DR) = byte;
    }
    return true;
}

void machine_wait(void)
{
    sleep_until_interrupt();
}
