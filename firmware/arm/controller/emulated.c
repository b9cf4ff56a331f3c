/* An exported controller in QEMU's mps2-an386, a Cortex-M4: its replay prints by semihosting and reads the counter of
 * the FPGA, 25 MHz: with `-icount shift=3` one count is five instructions. */
#include <stdlib.h>

#include "../cortex_m.h"
#include "counter.h"

#define COUNT REGISTER(0x40028018u)
#define PRESCALE REGISTER(0x4002801Cu)

void initialise_monitor_handles(void);
int replay(void);
void serial_host(void);
void serial_world(void);

void serial_host(void)
{
}

void serial_world(void)
{
}

uint32_t machine_counter(void)
{
    return COUNT;
}

int main(void)
{
    initialise_monitor_handles();
    PRESCALE = 0;
    exit(replay());
}
