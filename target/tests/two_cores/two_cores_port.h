/* Two cores as threads. */
#ifndef TWO_CORES_PORT_H_
#define TWO_CORES_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern _Thread_local unsigned int two_cores_id;
uint64_t two_cores_now(void);
bool two_cores_sink(const uint8_t *buf, size_t len);

#endif
