/* A substitute for the header of mocks that an application includes: a function that returns a value that can be set. */
#pragma once
#include <stdint.h>

#define DEFINE_FFF_GLOBALS
#define DECLARE_FAKE_VALUE_FUNC(type, name)                                                                                  \
    struct name##_Fake {                                                                                                     \
        type return_val;                                                                                                     \
    };                                                                                                                       \
    extern struct name##_Fake name##_fake;                                                                                   \
    void name##_reset(void);
#define DEFINE_FAKE_VALUE_FUNC(type, name)                                                                                   \
    struct name##_Fake name##_fake;                                                                                          \
    type name(void) { return name##_fake.return_val; }                                                                       \
    void name##_reset(void) { name##_fake.return_val = 0; }
