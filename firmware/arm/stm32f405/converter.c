/* The converter ADC1: inputs PC0 to PC5, one conversion of about 1 us each. */
#include "../cortex_m.h"
#include "../port.h"
#include "stm32f405.h"

#define FIRST_INPUT 10u
#define ON 1u
#define START (1u << 30)
#define END_OF_CONVERSION 2u
#define LONG_ENOUGH 1000u

int32_t converter_read(unsigned input)
{
    REGISTER(ADC1 + ADC_SQR3) = FIRST_INPUT + input;
    REGISTER(ADC1 + ADC_CR2) = ON;
    REGISTER(ADC1 + ADC_CR2) = ON | START;
    for (unsigned i = 0; i < LONG_ENOUGH && !(REGISTER(ADC1 + ADC_SR) & END_OF_CONVERSION); i++) {
    }
    return (int32_t)(REGISTER(ADC1 + ADC_DR) & 0xFFFu);
}
