/* For Arduino, which looks for headers in this folder only. */
#include "../include/tband.h"
