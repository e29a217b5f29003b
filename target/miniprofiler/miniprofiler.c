#include "miniprofiler.h"

#include <string.h>

/* Hold off interrupts that call instrumented functions or miniprofiler_receive(), and let them in again. */
#ifndef MINIPROFILER_ENTER_CRITICAL
#if defined(__arm__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define MINIPROFILER_ENTER_CRITICAL()                                                                                        \
    uint32_t miniprofiler_key;                                                                                               \
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(miniprofiler_key)::"memory")
#define MINIPROFILER_EXIT_CRITICAL() __asm volatile("msr primask, %0" ::"r"(miniprofiler_key) : "memory")
#else
#define MINIPROFILER_ENTER_CRITICAL() ((void)0)
#define MINIPROFILER_EXIT_CRITICAL() ((void)0)
#endif
#endif

#define APART __attribute__((no_instrument_function))

enum { START = 1, STOP, GET_STATUS, RESET_BUFFERS, GET_METADATA, SET_CONFIG };
enum { ACK = 1, NACK, METADATA, STATUS, PROFILE_DATA };
enum { COMMAND_BYTES = 12, RECORD_BYTES = 14, RECORDS_PER_PACKET = 16, COMMANDS = 4 };

struct record {
    uint32_t function;
    uint32_t entry_us;
    uint32_t duration_us;
    uint16_t depth;
};

struct call {
    uint32_t function;
    uint32_t entry_us;
};

static struct {
    struct miniprofiler_info info;
    volatile bool profiles;
    uint32_t depth; /* calls since START that are open; above MINIPROFILER_DEPTH they are only counted */
    struct call calls[MINIPROFILER_DEPTH];
    /* Completed calls: put in by the hooks, taken out by miniprofiler_poll(). */
    struct record records[MINIPROFILER_RECORDS];
    uint32_t put;
    uint32_t got;
    uint32_t captured;
    uint32_t overflows;
    /* What the host sends. */
    uint8_t bytes[COMMAND_BYTES];
    uint8_t used;
    volatile uint8_t commands[COMMANDS];
    volatile uint8_t commands_put;
    uint8_t commands_got;
} profiler;

/* ---- Hooks of the compiler ------------------------------------------------------------------------------------------------- */

void __cyg_profile_func_enter(void *function, void *caller) APART;
void __cyg_profile_func_exit(void *function, void *caller) APART;

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if (!profiler.profiles) {
        return;
    }
    MINIPROFILER_ENTER_CRITICAL();
    if (profiler.depth < MINIPROFILER_DEPTH) {
        struct call *const call = &profiler.calls[profiler.depth];
        call->function = (uint32_t)(uintptr_t)function;
        call->entry_us = miniprofiler_time_us();
    }
    profiler.depth++;
    MINIPROFILER_EXIT_CRITICAL();
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    (void)caller;
    if (!profiler.profiles) {
        return;
    }
    MINIPROFILER_ENTER_CRITICAL();
    /* What was entered before START is not known, and its end says nothing. */
    if (profiler.depth > 0 && --profiler.depth < MINIPROFILER_DEPTH) {
        if (profiler.put - profiler.got < MINIPROFILER_RECORDS) {
            const struct call *const call = &profiler.calls[profiler.depth];
            struct record *const record = &profiler.records[profiler.put % MINIPROFILER_RECORDS];
            record->function = call->function;
            record->entry_us = call->entry_us;
            record->duration_us = miniprofiler_time_us() - call->entry_us;
            record->depth = (uint16_t)profiler.depth;
            profiler.put++;
            profiler.captured++;
        } else {
            profiler.overflows++;
        }
    }
    MINIPROFILER_EXIT_CRITICAL();
}

/* ---- Packets ------------------------------------------------------------------------------------------------------------------ */

APART static void put_u16(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

APART static void put_u32(uint8_t *at, uint32_t value) {
    put_u16(at, value);
    put_u16(at + 2, value >> 16);
}

/* CRC-16/CCITT-FALSE. */
APART static uint32_t crc16(const uint8_t *bytes, size_t len) {
    uint32_t crc = 0xffffu;
    for (size_t i = 0; i < len; i++) {
        crc ^= (uint32_t)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000u) != 0 ? (crc << 1 ^ 0x1021u) & 0xffffu : crc << 1;
        }
    }
    return crc;
}

/* The payload is in its place already, after five bytes. */
APART static void send_packet(uint8_t *packet, uint32_t type, size_t payload) {
    packet[0] = 0xaa;
    packet[1] = 0x55;
    packet[2] = (uint8_t)type;
    put_u16(packet + 3, (uint32_t)payload);
    put_u16(packet + 5 + payload, crc16(packet, 5 + payload));
    packet[7 + payload] = 0x0a;
    miniprofiler_send(packet, 8 + payload);
}

APART static void send_status(void) {
    uint8_t packet[8 + 10];
    packet[5] = profiler.profiles ? 1 : 0;
    put_u32(packet + 6, profiler.overflows);
    put_u32(packet + 10, profiler.captured);
    packet[14] = (uint8_t)((profiler.put - profiler.got) * 100u / MINIPROFILER_RECORDS);
    send_packet(packet, STATUS, 10);
}

APART static void send_metadata(void) {
    uint8_t packet[8 + 28];
    put_u32(packet + 5, profiler.info.mcu_clock_hz);
    put_u32(packet + 9, profiler.info.timer_hz);
    put_u32(packet + 13, profiler.info.build_id);
    bool ended = false;
    for (size_t i = 0; i < 16; i++) {
        ended = ended || profiler.info.version[i] == '\0';
        packet[17 + i] = ended ? 0 : (uint8_t)profiler.info.version[i];
    }
    send_packet(packet, METADATA, 28);
}

APART static void send_records(void) {
    uint8_t packet[8 + 3 + RECORDS_PER_PACKET * RECORD_BYTES];
    uint32_t count = 0;
    for (; count < RECORDS_PER_PACKET; count++) {
        MINIPROFILER_ENTER_CRITICAL();
        const bool there = profiler.got != profiler.put;
        if (there) {
            const struct record *const record = &profiler.records[profiler.got % MINIPROFILER_RECORDS];
            uint8_t *const at = packet + 8 + count * RECORD_BYTES;
            put_u32(at, record->function);
            put_u32(at + 4, record->entry_us);
            put_u32(at + 8, record->duration_us);
            put_u16(at + 12, record->depth);
            profiler.got++;
        }
        MINIPROFILER_EXIT_CRITICAL();
        if (!there) {
            break;
        }
    }
    if (count > 0) {
        packet[5] = 1;
        put_u16(packet + 6, count);
        send_packet(packet, PROFILE_DATA, 3 + count * RECORD_BYTES);
    }
}

/* ---- The host ------------------------------------------------------------------------------------------------------------------- */

APART void miniprofiler_init(const struct miniprofiler_info *info) {
    memset(&profiler, 0, sizeof profiler);
    profiler.info = *info;
}

APART void miniprofiler_receive(uint8_t byte) {
    profiler.bytes[profiler.used++] = byte;
    /* A command begins with 55 and ends with the sum of what precedes it. Anything else costs its first byte. */
    while (profiler.used > 0) {
        bool is_command = profiler.bytes[0] == 0x55;
        if (is_command && profiler.used < COMMAND_BYTES) {
            return;
        }
        uint8_t sum = 0;
        for (size_t i = 0; is_command && i < COMMAND_BYTES - 1; i++) {
            sum = (uint8_t)(sum + profiler.bytes[i]);
        }
        is_command = is_command && sum == profiler.bytes[COMMAND_BYTES - 1];
        if (is_command && (uint8_t)(profiler.commands_put - profiler.commands_got) < COMMANDS) {
            profiler.commands[profiler.commands_put % COMMANDS] = profiler.bytes[1];
            profiler.commands_put++;
        }
        const size_t spent = is_command ? COMMAND_BYTES : 1;
        profiler.used = (uint8_t)(profiler.used - spent);
        memmove(profiler.bytes, profiler.bytes + spent, profiler.used);
    }
}

/* Whether the command is known. */
APART static bool obey(uint8_t command) {
    MINIPROFILER_ENTER_CRITICAL();
    if (command == START) {
        profiler.depth = 0;
        profiler.profiles = true;
    } else if (command == STOP) {
        profiler.profiles = false;
    } else if (command == RESET_BUFFERS) {
        profiler.got = profiler.put;
        profiler.captured = 0;
        profiler.overflows = 0;
    }
    MINIPROFILER_EXIT_CRITICAL();
    return command == START || command == STOP || command == RESET_BUFFERS;
}

APART void miniprofiler_poll(void) {
    while (profiler.commands_got != profiler.commands_put) {
        const uint8_t command = profiler.commands[profiler.commands_got % COMMANDS];
        profiler.commands_got++;
        if (command == GET_STATUS) {
            send_status();
        } else if (command == GET_METADATA) {
            send_metadata();
        } else {
            /* There is nothing to configure: SET_CONFIG is refused, as is what is unknown. */
            uint8_t packet[8];
            send_packet(packet, obey(command) ? ACK : NACK, 0);
        }
    }
    send_records();
}
