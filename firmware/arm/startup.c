/* Reset of a Cortex-M: data copied, the rest cleared, main called; and the table of vectors. */
#include <stdint.h>

extern uint32_t data_source[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

int main(void);
void reset(void);
void halt(void);
void wake(void);
void serial_host(void);
void serial_world(void);

void reset(void)
{
    uint32_t *from = data_source;
    for (uint32_t *to = data_begin; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; to++)
        *to = 0;
    main();
}

/* A fault: the chip's own watchdog, where it has one, resets it, and a board starts with safe outputs. */
void halt(void)
{
    for (;;) {
    }
}

/* SysTick only wakes the processor; nothing counts it, because interrupts that coincide are lost. */
void wake(void)
{
}

union vector {
    void (*handler)(void);
    uint32_t *stack;
};

/* clang-format off */
__attribute__((section(".vectors"), used)) static const union vector VECTORS[16 + 96] = {
    {.stack = stack_top}, {reset}, {halt}, {halt}, {halt}, {halt}, {halt}, {0},
    {0}, {0}, {0}, {halt}, {halt}, {0}, {halt}, {wake},
    [16 + HOST_IRQ] = {serial_host},
    [16 + WORLD_IRQ] = {serial_world},
};
/* clang-format on */
