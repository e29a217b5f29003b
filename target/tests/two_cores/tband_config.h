/* Every setting comes from the command line of the compiler. */
#ifndef TBAND_CONFIG_H_
#define TBAND_CONFIG_H_
#ifndef tband_configENABLE
#define tband_configENABLE 1
#endif
#endif
