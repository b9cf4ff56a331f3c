/* Addresses of the registers that are used (reference manual RM0090). */
#ifndef GRANITE_STM32F405_H
#define GRANITE_STM32F405_H

#define TIM2 0x40000000u
#define TIM3 0x40000400u
#define TIM1 0x40010000u
#define TIM8 0x40010400u
#define TIM_CR1 0x00u
#define TIM_SMCR 0x08u
#define TIM_EGR 0x14u
#define TIM_CCMR1 0x18u
#define TIM_CCMR2 0x1Cu
#define TIM_CCER 0x20u
#define TIM_CNT 0x24u
#define TIM_PSC 0x28u
#define TIM_ARR 0x2Cu
#define TIM_CCR1 0x34u
#define TIM_BDTR 0x44u

#define USART2 0x40004400u
#define USART1 0x40011000u
#define USART_SR 0x00u
#define USART_DR 0x04u
#define USART_BRR 0x08u
#define USART_CR1 0x0Cu
#define USART_RXNE (1u << 5)
#define USART_TXE (1u << 7)

#define ADC1 0x40012000u
#define ADC_SR 0x00u
#define ADC_CR2 0x08u
#define ADC_SMPR1 0x0Cu
#define ADC_SQR3 0x34u
#define ADC_DR 0x4Cu

#define IWDG_KR 0x40003000u
#define IWDG_PR 0x40003004u
#define IWDG_RLR 0x40003008u

#define FLASH_ACR 0x40023C00u
#define RCC_CR 0x40023800u
#define RCC_PLLCFGR 0x40023804u
#define RCC_CFGR 0x40023808u
#define RCC_AHB1ENR 0x40023830u
#define RCC_AHB2ENR 0x40023834u
#define RCC_APB1ENR 0x40023840u
#define RCC_APB2ENR 0x40023844u

#define GPIOA 0x40020000u
#define GPIOB 0x40020400u
#define GPIOC 0x40020800u
#define GPIO_MODER 0x00u
#define GPIO_PUPDR 0x0Cu
#define GPIO_IDR 0x10u
#define GPIO_BSRR 0x18u
#define GPIO_AFR 0x20u

#define RNG_CR 0x50060800u
#define RNG_SR 0x50060804u
#define RNG_DR 0x50060808u
#define RNG_READY (1u << 0)
#define RNG_ERRORS (3u << 1)

#define UNIQUE_ID 0x1FFF7A10u

/* One converter input [counts of 12 bits]. */
int32_t converter_read(unsigned input);

#endif
