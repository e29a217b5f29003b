/* See kernel.h. */
#ifndef ZEPHYR_IRQ_H_
#define ZEPHYR_IRQ_H_

unsigned int irq_lock(void);
void irq_unlock(unsigned int key);

#endif
