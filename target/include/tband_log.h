/* Log messages that the host formats. Included by tband.h.
 *
 *     tband_log(TBAND_LOG_INFO, "%s: %d of %u", name, done, all);
 *
 * The severity, the format and its place in the source go to the section .tband_log of the ELF file, which is not loaded if the linker
 * script says so (tband_log.ld does); only where they are there and the arguments are recorded. `traceconv --elf` makes the text.
 *
 * The format is a literal, of printf's kind, with up to 8 arguments of these types: integers, characters, pointers, float, double, and
 * texts (char *), of which the bytes are recorded, up to tband_configMAX_STR_LEN of all texts of a message. The compiler checks them as
 * it checks printf's, except that texts of unsigned char need a cast to char *, a char * for %p one to void *, and bit-fields one to int. */
#ifndef TBAND_LOG_H_
#define TBAND_LOG_H_

/* Severities. */
#define TBAND_LOG_VERBOSE 1
#define TBAND_LOG_DEBUG 2
#define TBAND_LOG_INFO 3
#define TBAND_LOG_WARNING 4
#define TBAND_LOG_ERROR 5
#define TBAND_LOG_FATAL 6

/* Only for the compiler: it warns of arguments that do not fit the format. */
TBAND_NO_TRACE static inline void tband_log_check(const char *format, ...) __attribute__((format(printf, 1, 2)));
TBAND_NO_TRACE static inline void tband_log_check(const char *format, ...) { (void)format; }

#if tband_configENABLE == 1 && tband_configLOG_ENABLE == 1

#ifdef __cplusplus
extern "C" {
#endif

/* What tband_log() calls: the place of the format, the types of the arguments (three bits each, the first lowest) and the arguments: as
 * words where all fit, else each in 64 bits. */
void tband_log_words(uint32_t format, uint32_t types, uint32_t a, uint32_t b);
void tband_log_wide(uint32_t format, uint32_t types, const uint64_t *arguments);

#ifdef __cplusplus
}
#endif

/* Casts that C++ has no warning for. */
#ifdef __cplusplus
#define TBAND_LOG_CAST(type, x) static_cast<type>(x)
#define TBAND_LOG_ADDRESS(x) reinterpret_cast<uintptr_t>(x)
#else
#define TBAND_LOG_CAST(type, x) ((type)(x))
#define TBAND_LOG_ADDRESS(x) ((uintptr_t)(x))
#endif

#define TBAND_LOG_UNSIGNED 1u
#define TBAND_LOG_SIGNED 2u
#define TBAND_LOG_DOUBLE 3u
#define TBAND_LOG_TEXT 4u
#define TBAND_LOG_FLOAT 5u

/* Small numbers of either sign become small unsigned ones. */
TBAND_NO_TRACE static inline uint64_t tband_log_of_signed(int64_t v) { return (TBAND_LOG_CAST(uint64_t, v) << 1) ^ (0u - TBAND_LOG_CAST(uint64_t, v < 0)); }
TBAND_NO_TRACE static inline uint64_t tband_log_of_unsigned(uint64_t v) { return v; }
TBAND_NO_TRACE static inline uint64_t tband_log_of_pointer(const volatile void *v) { return TBAND_LOG_ADDRESS(v); }
TBAND_NO_TRACE static inline uint64_t tband_log_of_float(float v) {
    uint32_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}
TBAND_NO_TRACE static inline uint64_t tband_log_of_double(double v) {
    /* Four bytes on some 8-bit targets. */
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}

#ifndef __cplusplus
#define TBAND_LOG_CHOSEN(x, is_signed, is_unsigned, is_float, is_double, is_text, is_pointer)                                \
    _Generic((x), signed char: is_signed, short: is_signed, int: is_signed, long: is_signed, long long: is_signed,           \
             char: is_signed, unsigned char: is_unsigned, unsigned short: is_unsigned, unsigned int: is_unsigned,            \
             unsigned long: is_unsigned, unsigned long long: is_unsigned, _Bool: is_unsigned, float: is_float,               \
             double: is_double, long double: is_double, char *: is_text, const char *: is_text, default: is_pointer)
#define TBAND_LOG_TYPE(x)                                                                                                    \
    ((uint32_t)TBAND_LOG_CHOSEN(x, TBAND_LOG_SIGNED, TBAND_LOG_UNSIGNED, TBAND_LOG_FLOAT,                                    \
                                sizeof(double) == 4 ? TBAND_LOG_FLOAT : TBAND_LOG_DOUBLE, TBAND_LOG_TEXT, TBAND_LOG_UNSIGNED))
#define TBAND_LOG_VALUE(x)                                                                                                   \
    (TBAND_LOG_CHOSEN(x, tband_log_of_signed, tband_log_of_unsigned, tband_log_of_float, tband_log_of_double,                \
                      tband_log_of_pointer, tband_log_of_pointer)(x))
#else
/* This header may be included as one of C's. */
extern "C++" {
/* Never called, so that no argument is evaluated twice: the type is the size of what it returns. */
#define TBAND_LOG_OF(type, kind, value)                                                                                      \
    char(&tband_log_type(type))[kind];                                                                                       \
    TBAND_NO_TRACE static inline uint64_t tband_log_value(type v) { return value; }
TBAND_LOG_OF(bool, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(unsigned char, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(unsigned short, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(unsigned int, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(unsigned long, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(unsigned long long, TBAND_LOG_UNSIGNED, tband_log_of_unsigned(v))
TBAND_LOG_OF(char, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(signed char, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(short, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(int, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(long, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(long long, TBAND_LOG_SIGNED, tband_log_of_signed(v))
TBAND_LOG_OF(float, TBAND_LOG_FLOAT, tband_log_of_float(v))
TBAND_LOG_OF(double, sizeof(double) == 4 ? TBAND_LOG_FLOAT : TBAND_LOG_DOUBLE, tband_log_of_double(v))
TBAND_LOG_OF(const char *, TBAND_LOG_TEXT, tband_log_of_pointer(v))
TBAND_LOG_OF(const volatile void *, TBAND_LOG_UNSIGNED, tband_log_of_pointer(v))
}
#define TBAND_LOG_TYPE(x) TBAND_LOG_CAST(uint32_t, sizeof(tband_log_type(x)))
#define TBAND_LOG_VALUE(x) tband_log_value(x)
#endif

/* Whether an argument is recorded as a word. */
#define TBAND_LOG_IS_WORD(x)                                                                                                 \
    (sizeof(x) <= 4 && TBAND_LOG_TYPE(x) != TBAND_LOG_TEXT && TBAND_LOG_TYPE(x) != TBAND_LOG_DOUBLE)

#define TBAND_LOG_STRING(x) #x
#define TBAND_LOG_LINE(x) TBAND_LOG_STRING(x)
/* C++ does not mix what inline functions and others put into a section. */
#ifdef __cplusplus
#define TBAND_LOG_SECTION ".tband_log." TBAND_LOG_LINE(__COUNTER__)
#else
#define TBAND_LOG_SECTION ".tband_log"
#endif
/* The entry of a call there. */
#define TBAND_LOG_ENTRY(level, format)                                                                                       \
    static const struct {                                                                                                    \
        uint8_t severity;                                                                                                    \
        char text[sizeof(format "\0" __FILE__ ":" TBAND_LOG_LINE(__LINE__))];                                                \
    } tband_log_entry __attribute__((section(TBAND_LOG_SECTION))) = {(level), format "\0" __FILE__ ":" TBAND_LOG_LINE(__LINE__)}; \
    const uint32_t tband_log_format = TBAND_LOG_CAST(uint32_t, TBAND_LOG_ADDRESS(&tband_log_entry))

#define TBAND_LOG_0(level, format)                                                                                           \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    tband_log_words(tband_log_format, 0, 0, 0)
#define TBAND_LOG_1(level, format, a)                                                                                        \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    if (TBAND_LOG_IS_WORD(a)) {                                                                                              \
        tband_log_words(tband_log_format, TBAND_LOG_TYPE(a), TBAND_LOG_CAST(uint32_t, TBAND_LOG_VALUE(a)), 0);                               \
    } else {                                                                                                                 \
        const uint64_t tband_log_arguments[] = {TBAND_LOG_VALUE(a)};                                                         \
        tband_log_wide(tband_log_format, TBAND_LOG_TYPE(a), tband_log_arguments);                                            \
    }
#define TBAND_LOG_2(level, format, a, b)                                                                                     \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    if (TBAND_LOG_IS_WORD(a) && TBAND_LOG_IS_WORD(b)) {                                                                      \
        tband_log_words(tband_log_format, TBAND_LOG_TYPES_2(a, b), TBAND_LOG_CAST(uint32_t, TBAND_LOG_VALUE(a)),                             \
                        TBAND_LOG_CAST(uint32_t, TBAND_LOG_VALUE(b)));                                                                       \
    } else {                                                                                                                 \
        TBAND_LOG_WIDE(TBAND_LOG_TYPES_2(a, b), TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b));                                     \
    }
#define TBAND_LOG_3(level, format, a, b, c)                                                                                  \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_3(a, b, c), TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b), TBAND_LOG_VALUE(c))
#define TBAND_LOG_4(level, format, a, b, c, d)                                                                               \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_4(a, b, c, d), TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b), TBAND_LOG_VALUE(c),                \
                   TBAND_LOG_VALUE(d))
#define TBAND_LOG_5(level, format, a, b, c, d, e)                                                                            \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_4(a, b, c, d) | TBAND_LOG_TYPE(e) << 12, TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b),          \
                   TBAND_LOG_VALUE(c), TBAND_LOG_VALUE(d), TBAND_LOG_VALUE(e))
#define TBAND_LOG_6(level, format, a, b, c, d, e, f)                                                                         \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_4(a, b, c, d) | TBAND_LOG_TYPES_2(e, f) << 12, TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b),    \
                   TBAND_LOG_VALUE(c), TBAND_LOG_VALUE(d), TBAND_LOG_VALUE(e), TBAND_LOG_VALUE(f))
#define TBAND_LOG_7(level, format, a, b, c, d, e, f, g)                                                                      \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_4(a, b, c, d) | TBAND_LOG_TYPES_3(e, f, g) << 12, TBAND_LOG_VALUE(a), TBAND_LOG_VALUE(b), \
                   TBAND_LOG_VALUE(c), TBAND_LOG_VALUE(d), TBAND_LOG_VALUE(e), TBAND_LOG_VALUE(f), TBAND_LOG_VALUE(g))
#define TBAND_LOG_8(level, format, a, b, c, d, e, f, g, h)                                                                   \
    TBAND_LOG_ENTRY(level, format);                                                                                          \
    TBAND_LOG_WIDE(TBAND_LOG_TYPES_4(a, b, c, d) | TBAND_LOG_TYPES_4(e, f, g, h) << 12, TBAND_LOG_VALUE(a),                  \
                   TBAND_LOG_VALUE(b), TBAND_LOG_VALUE(c), TBAND_LOG_VALUE(d), TBAND_LOG_VALUE(e), TBAND_LOG_VALUE(f),       \
                   TBAND_LOG_VALUE(g), TBAND_LOG_VALUE(h))
#define TBAND_LOG_TYPES_2(a, b) (TBAND_LOG_TYPE(a) | TBAND_LOG_TYPE(b) << 3)
#define TBAND_LOG_TYPES_3(a, b, c) (TBAND_LOG_TYPES_2(a, b) | TBAND_LOG_TYPE(c) << 6)
#define TBAND_LOG_TYPES_4(a, b, c, d) (TBAND_LOG_TYPES_2(a, b) | TBAND_LOG_TYPES_2(c, d) << 6)
#define TBAND_LOG_WIDE(types, ...)                                                                                           \
    const uint64_t tband_log_arguments[] = {__VA_ARGS__};                                                                    \
    tband_log_wide(tband_log_format, (types), tband_log_arguments)

/* The macro for as many arguments as there are after the format. */
#define TBAND_LOG_NTH(f, a, b, c, d, e, g, h, i, j, k, l, m, macro, ...) macro
#define TBAND_LOG_FOR(...)                                                                                                   \
    TBAND_LOG_NTH(__VA_ARGS__, TBAND_LOG_more_than_8_arguments, TBAND_LOG_more_than_8_arguments,                             \
                  TBAND_LOG_more_than_8_arguments, TBAND_LOG_more_than_8_arguments, TBAND_LOG_8, TBAND_LOG_7, TBAND_LOG_6,   \
                  TBAND_LOG_5, TBAND_LOG_4, TBAND_LOG_3, TBAND_LOG_2, TBAND_LOG_1, TBAND_LOG_0, 0)

/** Records a message: a severity (a constant), a format (a literal) and its arguments. Any context; the cost of an event and some
 * instructions for each argument. */
#define tband_log(level, ...)                                                                                                \
    do {                                                                                                                     \
        if (0) {                                                                                                             \
            tband_log_check(__VA_ARGS__);                                                                                    \
        }                                                                                                                    \
        if ((level) >= tband_configLOG_LEVEL) {                                                                              \
            TBAND_LOG_FOR(__VA_ARGS__)(level, __VA_ARGS__);                                                                  \
        }                                                                                                                    \
    } while (0)

#else
#define tband_log(level, ...)                                                                                                \
    do {                                                                                                                     \
        if (0) {                                                                                                             \
            tband_log_check(__VA_ARGS__);                                                                                    \
        }                                                                                                                    \
        (void)(level);                                                                                                       \
    } while (0)
#endif

#endif
