/* The supervisor calls of tband_unprivileged.h. What a task points to is read with the task's own rights: the MPU refuses what it must not read. */
#define TBAND_SVC_HANDLER
#include "tband_unprivileged.h"

#if tband_configENABLE == 1

#include "tband_port.h"

#define TBAND_SVC_STRING(x) #x
#define TBAND_SVC_NUMBER(x) TBAND_SVC_STRING(x)

/* As a symbol, so that FreeRTOSConfig.h may give the kernel's handler another name. */
void tband_svc_handler(void) __asm("SVC_Handler");
void tband_svc_called(const uint32_t *frame);

/* A call of the tracer's goes to tband_svc_called(), with the registers that the processor put on the caller's stack; any other to the kernel. */
__attribute__((naked)) void tband_svc_handler(void) {
    __asm volatile("tst lr, #4\n"
                   "ite eq\n"
                   "mrseq r0, msp\n"
                   "mrsne r0, psp\n"
                   "ldr r1, [r0, #24]\n"
                   "ldrb r1, [r1, #-2]\n"
                   "cmp r1, #" TBAND_SVC_NUMBER(tband_portSVC) "\n"
                   "beq 1f\n"
                   "ldr r1, =vPortSVCHandler\n"
                   "bx r1\n"
                   "1: ldr r1, =tband_svc_called\n"
                   "bx r1\n"
                   ".ltorg\n");
}

#if tband_configMARKER_TRACE_ENABLE == 1 || tband_configLOG_ENABLE == 1
/* The byte that the calling task sees there. */
static uint8_t tband_svc_byte(uintptr_t at) {
    uint32_t control;
    uint32_t byte;
    __asm volatile("mrs %0, control" : "=r"(control));
    if ((control & 1u) == 0) {
        return *(const volatile uint8_t *)at;
    }
    __asm volatile("ldrbt %0, [%1]" : "=r"(byte) : "r"(at) : "memory");
    return (uint8_t)byte;
}

/* Copies a text of at most `room` bytes, and a 0. Returns its length. */
static uint32_t tband_svc_copy(char *to, uintptr_t text, uint32_t room) {
    uint32_t len = 0;
    while (text != 0 && len < room && (to[len] = (char)tband_svc_byte(text + len)) != '\0') {
        len++;
    }
    to[len] = '\0';
    return len;
}
#endif

#if tband_configLOG_ENABLE == 1
static uint32_t tband_svc_word(uintptr_t at) {
    return tband_svc_byte(at) | (uint32_t)tband_svc_byte(at + 1u) << 8 | (uint32_t)tband_svc_byte(at + 2u) << 16 |
           (uint32_t)tband_svc_byte(at + 3u) << 24;
}
#endif

#if tband_configMARKER_TRACE_ENABLE == 1
static int64_t tband_svc_int64(const uint32_t *frame) { return (int64_t)((uint64_t)frame[2] << 32 | frame[1]); }

static void tband_svc_with_text(uint32_t call, uint32_t id, uintptr_t from) {
    char text[tband_configMAX_STR_LEN + 1];
    (void)tband_svc_copy(text, from, tband_configMAX_STR_LEN);
    switch (call) {
    case TBAND_SVC_EVTMARKER_NAME:
        tband_evtmarker_name(id, text);
        break;
    case TBAND_SVC_EVTMARKER:
        tband_evtmarker(id, text);
        break;
    case TBAND_SVC_EVTMARKER_BEGIN:
        tband_evtmarker_begin(id, text);
        break;
    case TBAND_SVC_VALMARKER_NAME:
        tband_valmarker_name(id, text);
        break;
    case TBAND_SVC_TASK_EVTMARKER_NAME:
        tband_freertos_task_evtmarker_name(id, text);
        break;
    case TBAND_SVC_TASK_EVTMARKER:
        tband_freertos_task_evtmarker(id, text);
        break;
    case TBAND_SVC_TASK_EVTMARKER_BEGIN:
        tband_freertos_task_evtmarker_begin(id, text);
        break;
    case TBAND_SVC_TASK_VALMARKER_NAME:
        tband_freertos_task_valmarker_name(id, text);
        break;
    default:
        break;
    }
}
#endif

#if tband_configLOG_ENABLE == 1
static void tband_svc_log(uint32_t format, uint32_t types, uintptr_t from) {
    uint64_t arguments[8] = {0};
    char texts[tband_configMAX_STR_LEN + 8];
    uint32_t used = 0;
    uint32_t room = tband_configMAX_STR_LEN;
    uint32_t n = 0;
    for (uint32_t rest = types; rest != 0 && n < 8u; rest >>= 3) {
        arguments[n] = (uint64_t)tband_svc_word(from + 4u) << 32 | tband_svc_word(from);
        if ((rest & 7u) == TBAND_LOG_TEXT) {
            const uint32_t len = tband_svc_copy(&texts[used], (uintptr_t)arguments[n], room);
            arguments[n] = (uintptr_t)&texts[used];
            used += len + 1u;
            room -= len;
        }
        from += 8u;
        n++;
    }
    /* No more than eight, whoever makes the call. */
    tband_log_wide(format, types & 0xffffffu, arguments);
}
#endif

void tband_svc_called(const uint32_t *frame) {
    switch (frame[4]) {
#if tband_configMARKER_TRACE_ENABLE == 1
    case TBAND_SVC_EVTMARKER_END:
        tband_evtmarker_end(frame[0]);
        break;
    case TBAND_SVC_TASK_EVTMARKER_END:
        tband_freertos_task_evtmarker_end(frame[0]);
        break;
    case TBAND_SVC_VALMARKER:
        tband_valmarker(frame[0], tband_svc_int64(frame));
        break;
    case TBAND_SVC_TASK_VALMARKER:
        tband_freertos_task_valmarker(frame[0], tband_svc_int64(frame));
        break;
    default:
        tband_svc_with_text(frame[4], frame[0], frame[1]);
        break;
#endif
#if tband_configLOG_ENABLE == 1
    case TBAND_SVC_LOG_WORDS:
        tband_log_words(frame[0], frame[1], frame[2], frame[3]);
        break;
    case TBAND_SVC_LOG_WIDE:
        tband_svc_log(frame[0], frame[1], frame[2]);
        break;
#endif
    }
}

#endif
