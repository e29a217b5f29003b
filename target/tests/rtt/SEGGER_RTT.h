/* The part of SEGGER's interface that the RTT sink uses, so that it can be compiled without SEGGER's sources. */
#ifndef SEGGER_RTT_H
#define SEGGER_RTT_H
#define SEGGER_RTT_MODE_NO_BLOCK_SKIP (0)
int SEGGER_RTT_ConfigUpBuffer(unsigned index, const char *name, void *buffer, unsigned size, unsigned flags);
unsigned SEGGER_RTT_WriteSkipNoLock(unsigned index, const void *buffer, unsigned len);
#endif
