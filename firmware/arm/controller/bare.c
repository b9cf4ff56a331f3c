/* The controller alone, as a whole image: what it takes of a microcontroller's memory. */
#include "controller.h"

void serial_host(void);
void serial_world(void);

static double sample[GRANITE_SAMPLE_SIZE], command[GRANITE_COMMAND_SIZE];
volatile int status;

void serial_host(void)
{
}

void serial_world(void)
{
}

int main(void)
{
    granite_controller_start();
    for (;;)
        status = granite_controller_step(sample, command);
}
