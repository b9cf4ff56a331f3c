/* Arm's MPS2 with a Cortex-M3 (AN385), as QEMU has it: UARTs of the CMSDK, and the counter of the FPGA. */
#include "../cortex_m.h"
#include "../port.h"

#define CLOCK_HZ 25000000u
#define COUNTER REGISTER(0x40028018u)
#define PRESCALE REGISTER(0x4002801Cu)

#define UART(LINE, OFFSET) REGISTER(0x40004000u + 0x1000u * (unsigned)(LINE) + (OFFSET))
#define DATA(LINE) UART(LINE, 0x00u)
#define STATE(LINE) UART(LINE, 0x04u)
#define CONTROL(LINE) UART(LINE, 0x08u)
#define INTERRUPTS(LINE) UART(LINE, 0x0Cu)
#define DIVIDER(LINE) UART(LINE, 0x10u)
#define SEND_FULL 1u
#define HAS_BYTE 2u

void serial_host(void);
void serial_world(void);

static void receive(enum line line)
{
    INTERRUPTS(line) = HAS_BYTE;
    while (STATE(line) & HAS_BYTE)
        line_received(line, (uint8_t)DATA(line));
}

void serial_host(void)
{
    receive(LINE_HOST);
}

void serial_world(void)
{
    receive(LINE_WORLD);
}

void machine_init(void)
{
    PRESCALE = CLOCK_HZ / 1000000u - 1u;
    for (enum line line = LINE_HOST; line < LINES; line++) {
        DIVIDER(line) = 16u;
        CONTROL(line) = 1u | 2u | 8u; /* send, receive, interrupt on receive */
    }
    enable_interrupt(HOST_IRQ);
    enable_interrupt(WORLD_IRQ);
    wake_every(CLOCK_HZ / 1000u);
}

uint32_t machine_counter(void)
{
    return COUNTER;
}

uint32_t machine_seed(void)
{
    return 0;
}

bool machine_serve(enum line line)
{
    uint8_t byte;
    while (!(STATE(line) & SEND_FULL)) {
        if (!line_next(line, &byte))
            return false;
        DATA(line) = byte;
    }
    return true;
}

void machine_wait(void)
{
    sleep_until_interrupt();
}
