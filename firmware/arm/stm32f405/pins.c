/* The pins, which QEMU does not model: keep it short, and check it on the board with an oscilloscope.

   PB6, PB7      serial line to the host (USART1)
   PC8..11, PB8..11  valves r1 to r8, high opens
   PA8, 9, 10    torque of shoulder, elbow, wheel: PWM, 20 kHz;  PB12, 13, 14  their direction, high is negative
   PB15          grip, high closes
   PA6, 7        encoder shoulder (TIM3);  PC6, 7  encoder elbow (TIM8)
   PC0..5        converter
   PB5           emergency stop: a normally closed contact to ground, so that a broken wire stops too */
#include <string.h>

#include "../../boards/free_flyer.h"
#include "../cortex_m.h"
#include "../port.h"
#include "stm32f405.h"

#define PWM_STEPS 8400 /* 168 MHz / 20 kHz */
#define OUTPUT 1u
#define ALTERNATE 2u
#define ANALOGUE 3u

static const struct {
    uint32_t port;
    uint8_t pin;
} VALVE_PIN[VALVES] = {{GPIOC, 8}, {GPIOC, 9}, {GPIOC, 10}, {GPIOC, 11}, {GPIOB, 8}, {GPIOB, 9}, {GPIOB, 10}, {GPIOB, 11}};

static void set_mode(uint32_t port, unsigned pin, unsigned mode, unsigned alternate)
{
    REGISTER(port + GPIO_AFR + 4u * (pin / 8u)) |= alternate << (pin % 8u * 4u);
    REGISTER(port + GPIO_MODER) = (REGISTER(port + GPIO_MODER) & ~(3u << 2u * pin)) | mode << 2u * pin;
}

static void set_pin(uint32_t port, unsigned pin, bool high)
{
    REGISTER(port + GPIO_BSRR) = 1u << (high ? pin : pin + 16u);
}

static void start_encoder(uint32_t timer)
{
    REGISTER(timer + TIM_SMCR) = 3u; /* both edges of both tracks */
    REGISTER(timer + TIM_CCMR1) = 0x0101u;
    REGISTER(timer + TIM_ARR) = 0xFFFFu;
    REGISTER(timer + TIM_CR1) = 1u;
}

void outside_init(void)
{
    for (unsigned i = 0; i < VALVES; i++)
        set_mode(VALVE_PIN[i].port, VALVE_PIN[i].pin, OUTPUT, 0);
    for (unsigned i = 0; i < 3; i++) {
        set_mode(GPIOA, 8 + i, ALTERNATE, 1);
        set_mode(GPIOB, 12 + i, OUTPUT, 0);
    }
    set_mode(GPIOB, 15, OUTPUT, 0);
    for (unsigned i = 6; i < 8; i++) {
        set_mode(GPIOA, i, ALTERNATE, 2);
        set_mode(GPIOC, i, ALTERNATE, 3);
        set_mode(GPIOB, i, ALTERNATE, 7);
    }
    for (unsigned i = 0; i < CONVERTED; i++)
        set_mode(GPIOC, i, ANALOGUE, 0);
    REGISTER(GPIOB + GPIO_PUPDR) |= 1u << 2u * 5u;
    REGISTER(TIM1 + TIM_CCMR1) = 0x6868u; /* PWM mode 1, preloaded */
    REGISTER(TIM1 + TIM_CCMR2) = 0x0068u;
    REGISTER(TIM1 + TIM_CCER) = 0x0111u;
    REGISTER(TIM1 + TIM_ARR) = PWM_STEPS - 1u;
    REGISTER(TIM1 + TIM_BDTR) = 1u << 15;
    REGISTER(TIM1 + TIM_CR1) = 1u;
    start_encoder(TIM3);
    start_encoder(TIM8);
}

void outside_serial(uint8_t *serial)
{
    memcpy(serial, (const void *)UNIQUE_ID, SERIAL_BYTES);
}

void outside_sample(struct board *board)
{
    static const uint32_t TIMER[2] = {TIM3, TIM8};
    for (unsigned i = 0; i < 2; i++) {
        int32_t *angle = &board->sensed[ENCODER_SHOULDER + i];
        *angle += (int16_t)(REGISTER(TIMER[i] + TIM_CNT) - (uint32_t)*angle);
    }
    for (unsigned i = 0; i < CONVERTED; i++)
        board->sensed[FIRST_CONVERTED + i] = converter_read(i) - CONVERTER_MIDDLE;
}

bool outside_emergency_stop(struct board *board)
{
    (void)board;
    return REGISTER(GPIOB + GPIO_IDR) & 1u << 5;
}

void outside_drive(const struct board *board)
{
    for (unsigned i = 0; i < VALVES; i++)
        set_pin(VALVE_PIN[i].port, VALVE_PIN[i].pin, board->output[FIRST_VALVE + i] != 0);
    for (unsigned i = 0; i < 3; i++) {
        int32_t torque = board->output[MOTOR_SHOULDER + i];
        int32_t size = torque < 0 ? -torque : torque;
        set_pin(GPIOB, 12 + i, torque < 0);
        REGISTER(TIM1 + TIM_CCR1 + 4u * i) = (uint32_t)(size * PWM_STEPS / board->layout->channel[MOTOR_SHOULDER + i].high);
    }
    set_pin(GPIOB, 15, board->output[GRIP_TIP] != 0);
}
