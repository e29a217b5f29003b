#!/bin/sh
# Tests of the tracer library: run.sh [host] [two-cores] [compile] [functions] [logging] [riscv] [smp] [miniprofiler] [packages] [kernels]
# [ten-minutes] [firmware] [kernel] [qemu] [random] [random-two-cores]; all without arguments.
# Needs gcc and clang; those after `compile` find the FreeRTOS kernel through cargo; `kernels` and `qemu` need arm-none-eabi-gcc and
# qemu-system-arm. BUILD names the folder for what is built. FREERTOS_KERNELS names a folder with kernels, one in each folder of it:
# `kernels` then tries all of them, and `firmware` the applications in the folder `firmware` beside it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
target=$(dirname "$here")
build=${BUILD:-$(dirname "$target")/build/target-tests}
mkdir -p "$build"
cd "$target" || exit 2
warnings="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
small="-Dtband_configMETADATA_REPEAT_EVERY=0 -Dtband_configMAX_STR_LEN=1 -Dtband_configTRACE_DROP_CNT_EVERY=0 -Dtband_configMETADATA_BUF_SIZE=7 \
-Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=61 -Dtband_configSYNC_EVERY=1 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=1000 \
-Dtband_configBACKEND_POST_MORTEM_SEGMENTS=2"
jobs=$(nproc 2>/dev/null || echo 1)
running=0
# One line for each failure.
failures=$build/failures
: >"$failures"
: >"$build/missing"

fail() {
    echo "FAILED: $*"
    echo "$*" >>"$failures"
}

# A command beside others, as many as there are processors; `finish` waits for the rest.
beside() {
    "$@" &
    running=$((running + 1))
    [ "$running" -lt "$jobs" ] || finish
}

finish() {
    wait
    running=0
}

# What has not ended by then hangs; nothing takes a minute on an idle machine.
run() {
    timeout 1800 "$@"
}

# A compiler that links newlib without an operating system: the linker warns of each function that is not there. Not --no-warnings,
# which hides errors too, and makes a program that calls address 0 in place of what is missing.
linked() {
    linked_output=$("$@" 2>&1) && return
    echo "$linked_output"
    return 1
}

# checked <program> <flags>: builds it with the sanitizers and runs it. Its output ends with how many checks failed.
checked() {
    compiler=$1
    name=$2
    program=$build/$3
    shift 3
    if $compiler $warnings -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Iinclude -Itests/host "$@" -o "$program"; then
        run "$program" >"$program.log" 2>&1
        cat "$program.log"
        grep -q " checks, 0 failed$" "$program.log" || fail "$name"
        rm -f "$program"
    else
        fail "$name"
    fi
}

# The library's own tests: every backend x format x number of cores x size of buffers.
host() {
    for compiler in gcc clang; do
        for text in 20 300; do
            beside checked $compiler "vectors, $compiler, $text" "vectors-$compiler-$text" -Dtband_configCOMPAT=1 \
                -Dtband_configMAX_STR_LEN=$text -Dtband_configUSE_METADATA_BUF=0 -Dtband_configTRACE_DROP_CNT_EVERY=0 \
                -Dtband_configUSE_BACKEND_STREAMING=1 tests/test_vectors.c tests/decode.c src/*.c
        done
    done
    for backend in STREAMING SNAPSHOT POST_MORTEM EXTERNAL; do
        for compat in 0 1; do
            for cores in 1 2 3 9; do
                for variant in usual long small unnamed clock32 clock24; do
                    case $variant in
                    usual) options="" ;;
                    long) options="-Dtband_configMAX_STR_LEN=300 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=20000 \
-Dtband_configBACKEND_POST_MORTEM_SEGMENTS=7" ;;
                    small) options=$small ;;
                    unnamed) options="-Dtband_configUSE_METADATA_BUF=0 -Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=997" ;;
                    clock32) options="-Dtband_portTIMESTAMP_BITS=32 -DTEST_HZ=168000000" ;;
                    clock24) options="-Dtband_portTIMESTAMP_BITS=24 -DTEST_HZ=32768" ;;
                    esac
                    compiler=gcc
                    [ $((cores % 2)) = 0 ] && compiler=clang
                    name="$backend compat=$compat cores=$cores $variant"
                    beside checked $compiler "$name" "library-$backend-$compat-$cores-$variant" -DTEST_NAME="\"$name\"" \
                        -DTEST_CORES=$cores -Dtband_configCOMPAT=$compat -Dtband_configUSE_BACKEND_$backend=1 $options \
                        tests/test_library.c tests/decode.c
                done
            done
        done
    done
    name="STREAMING, a sync before every event and names again"
    beside checked gcc "$name" library-often -DTEST_NAME="\"$name\"" -DTEST_CORES=1 -Dtband_configUSE_BACKEND_STREAMING=1 \
        -Dtband_configSYNC_EVERY=1 tests/test_library.c tests/decode.c
    for sink in ring rtt dma; do
        beside checked gcc "sink $sink" "library-sink-$sink" -D_POSIX_C_SOURCE=200809L -DTBAND_SINK_SIZE=1024u -DTBAND_RTT_SIZE=1000u \
            -DTBAND_SINK_DMA_SIZE=500u "-DTEST_SINK=\"$sink\"" "-Dtband_portSINK_HEADER=\"tband_sink_$sink.h\"" -iquote tests/ports \
            -iquote port/posix -Iport/sinks tests/test_sinks.c port/sinks/tband_sink_$sink.c
    done
    finish
    cat "$build"/vectors-*.log "$build"/library-*.log |
        awk '{ n++; for (i = 2; i <= NF; i++) if ($i == "checks,") sum += $(i - 1) } END { print "host: " n " programs, " sum " checks" }'
    rm -f "$build"/vectors-*.log "$build"/library-*.log
}

# Two threads as cores under ThreadSanitizer.
two_cores_with() {
    name=$1
    program=$build/$2
    shift 2
    gcc -std=c11 -Wall -Wextra -g -O1 -fsanitize=thread -DTEST_NAME="\"$name\"" \
        -Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=4000000 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=16000000 -Dtband_configMETADATA_BUF_SIZE=2048 -Iinclude -Itests/two_cores "$@" \
        tests/test_two_cores.c tests/decode.c src/*.c -lpthread -o "$program" && run "$program" || fail "$name"
    rm -f "$program"
}

two_cores() {
    for compat in 0 1; do
        for backend in STREAMING SNAPSHOT POST_MORTEM; do
            for refuse in NOTHING REFUSE RESTART; do
                [ $backend$refuse = POST_MORTEMREFUSE ] && continue
                beside two_cores_with "two cores $backend compat=$compat $refuse" "two_cores-$backend-$compat-$refuse" \
                    -DTEST_$refuse -Dtband_configCOMPAT=$compat -Dtband_configUSE_BACKEND_$backend=1
            done
        done
    done
    finish
}

# Must not compile, and must say why.
refuses() {
    expected=$1
    shift
    if output=$(gcc -std=c11 -Iinclude -Itests/host "$@" -c src/tband.c -o "$build/refused.o" 2>&1); then
        fail "compiles: $*"
    elif ! printf '%s' "$output" | grep -q "$expected"; then
        fail "does not say '$expected': $*"
    fi
}

# compiled <name> <command>: all of the library with one compiler and one set of options, at each level of optimisation.
compiled() {
    name=$1
    shift
    for optimise in -O0 -O2 -Os; do
        for file in src/*.c; do
            "$@" $warnings $optimise -Iinclude -Itests/host -c "$file" -o /dev/null || fail "$name $optimise $file"
        done
    done
    echo "$name" >>"$build/compiled"
}

# kernel_compiled <name> <command>: the part of the library that needs the kernel's headers as well.
kernel_compiled() {
    name=$1
    shift
    for file in src/*.c; do
        "$@" $warnings -O1 -D_GNU_SOURCE -Iinclude -Itests/kernel -Itests/kernel/posix -isystem "$kernel/include" \
            -isystem "$kernel/portable/ThirdParty/GCC/Posix" -isystem "$kernel/portable/ThirdParty/GCC/Posix/utils" \
            -c "$file" -o /dev/null || fail "$name $file"
    done
    echo "$name" >>"$build/compiled"
}

# port_compiled <port> <compiler> <options>: with the sinks that are for it, in C and as a header of C++, and linked.
port_compiled() {
    port=$1
    compiler=$2
    shift 2
    for sink in ring rtt dma; do
        case $sink in
        ring) body='const uint8_t *at; tband_sink_sent(tband_sink_ready(&at));' ;;
        rtt) body='tband_sink_init(); (void)tband_rtt_write(0, "x", 1);' ;;
        dma) body='tband_sink_dma_done();' ;;
        esac
        # Of its own: the same port is compiled for other cores at the same time.
        folder=$(mktemp -d "$build/port-XXXXXX")
        main=$folder/main.c
        {
            echo '#include "tband.h"'
            echo '#include "tband_port.h"'
            [ $sink = dma ] && echo 'void tband_sink_dma_start(const uint8_t *bytes, size_t len) { (void)bytes; (void)len; }'
            [ "$port" = avr ] && echo 'volatile uint16_t tband_port_overflows;'
            echo "int main(void) { $body tband_isr_enter(1); return tband_start_streaming(); }"
        } >"$main"
        # As firmware has it: all settings in tband_config.h.
        printf '#define tband_configENABLE 1\n#define tband_configUSE_BACKEND_STREAMING 1\n#define tband_portSINK_HEADER "tband_sink_%s.h"\n' \
            $sink >"$folder/tband_config.h"
        linked $compiler $warnings -Os "-I$folder" "$@" -Iinclude -Iport/$port -Iport/sinks "$main" src/tband.c src/tband_backend.c \
            port/sinks/tband_sink_$sink.c -o "$folder/main.elf" || fail "$port with $sink, $compiler"
        rm -rf "$folder"
    done
    # Applications of the original library have the clock and the sink in tband_config.h.
    case $port in cortex_m* | riscv)
        folder=$(mktemp -d "$build/port-XXXXXX")
        cat >"$folder/tband_config.h" <<EOF
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define tband_configENABLE 1
#define tband_configUSE_BACKEND_STREAMING 1
uint64_t application_clock(void);
#define tband_portTIMESTAMP() application_clock()
#define tband_portTIMESTAMP_RESOLUTION_NS 25
bool application_sink(const uint8_t *buf, size_t len);
#define tband_portBACKEND_STREAM_DATA(buf, len) application_sink((buf), (len))
EOF
        for file in src/*.c; do
            $compiler $warnings -Os "-I$folder" "$@" -Iinclude -Iport/$port -c $file -o "$folder/main.o" ||
                fail "$port with the clock of an application, $compiler"
        done
        rm -rf "$folder"
        ;;
    esac
    echo "port $port, $compiler" >>"$build/compiled"
}

# Every port with every sink, linked for the core it is for: none of them may need a library of atomics.
ports() {
    kernel=$(kernel_source)/FreeRTOS-Kernel
    arm="--specs=nano.specs --specs=nosys.specs -mthumb"
    beside port_compiled posix gcc -D_POSIX_C_SOURCE=200809L
    beside port_compiled posix clang -D_POSIX_C_SOURCE=200809L
    beside port_compiled cortex_m_bare_metal arm-none-eabi-gcc $arm -mcpu=cortex-m4
    beside port_compiled cortex_m_bare_metal arm-none-eabi-gcc $arm -mcpu=cortex-m33
    beside port_compiled cortex_m0 arm-none-eabi-gcc $arm -mcpu=cortex-m0
    beside port_compiled rp2040 arm-none-eabi-gcc $arm -mcpu=cortex-m0plus
    for core in m3/ARM_CM3 m4/ARM_CM4F m33/ARM_CM33_NTZ/non_secure; do
        beside port_compiled cortex_m_freertos arm-none-eabi-gcc $arm -mcpu=cortex-${core%%/*} -Itests/kernel \
            -DconfigENABLE_FPU=0 -DconfigENABLE_MPU=0 -DconfigENABLE_TRUSTZONE=0 \
            -isystem "$kernel/include" -isystem "$kernel/portable/GCC/${core#*/}"
    done
    if command -v riscv64-unknown-elf-gcc >/dev/null; then
        for isa in rv32imc rv32imac; do
            beside port_compiled riscv riscv64-unknown-elf-gcc --specs=picolibc.specs -misa-spec=2.2 -march=$isa -mabi=ilp32
        done
    else
        missing "riscv64-unknown-elf-gcc: the RISC-V port"
    fi
    if command -v avr-gcc >/dev/null; then
        beside port_compiled avr avr-gcc -mmcu=atmega2560 -DTBAND_SINK_SIZE=512u -DTBAND_RTT_SIZE=512u -DTBAND_SINK_DMA_SIZE=256u
    else
        missing "avr-gcc: the AVR port"
    fi
    # ESP-IDF is not here: its headers are stubs, for the host.
    beside port_compiled esp32 gcc -Itests/ports/esp32
    finish
    # As C++ sees the headers of ports and sinks: what they declare is C's.
    for port in posix cortex_m_bare_metal cortex_m0 rp2040; do
        compiler=arm-none-eabi-g++
        [ $port = posix ] && compiler=g++
        for sink in ring rtt dma itm cmsdk_uart semihosting; do
            # These have addresses of 32 bits.
            case $port-$sink in posix-itm | posix-cmsdk_uart) continue ;; esac
            printf '#include "tband.h"\n#include "tband_port.h"\nbool f(const uint8_t *b) { return tband_sink(b, 1); }\n' \
                >"$build/port.cpp"
            $compiler -std=c++17 -fno-exceptions -Wall -Wextra -Werror -O2 -Itests/ports -Iinclude -Iport/$port \
                -Iport/sinks -Dtband_configENABLE=1 \
                -Dtband_configUSE_BACKEND_STREAMING=1 "-Dtband_portSINK_HEADER=\"tband_sink_$sink.h\"" -c "$build/port.cpp" \
                -o "$build/port.o" || fail "C++: $port with $sink"
            if nm "$build/port.o" | grep -q '_Z[0-9]*tband'; then
                fail "C++: $port with $sink has C++ names: $(nm "$build/port.o" | grep '_Z[0-9]*tband' | head -1)"
            fi
        done
    done
}

# Zephyr's hooks, against declarations of what they use of Zephyr.
zephyr() {
    options="-Iinclude -Iport/zephyr -Itests/zephyr -Itests/ports -Dtband_configENABLE=1 -Dtband_configUSE_BACKEND_STREAMING=1"
    gcc $warnings -g -fsanitize=address,undefined -fno-sanitize-recover=all $options -DCONFIG_TBAND_THREADS=5 \
        -DCONFIG_TBAND_THREAD_MARKERS=1000 tests/zephyr/main.c zephyr/tband_zephyr.c tests/decode.c src/tband.c src/tband_backend.c \
        -o "$build/zephyr" && run "$build/zephyr" || fail "Zephyr's hooks"
    for cpu in cortex-m0 cortex-m4; do
        arm-none-eabi-gcc $warnings -Os -mcpu=$cpu -mthumb $options -c zephyr/tband_zephyr.c -o "$build/zephyr.o" ||
            fail "Zephyr's hooks for $cpu"
    done
}

# Everything that the sources define begins with tband or TBAND, so that no header of the firmware's clashes with it.
names() {
    kernel=$(kernel_source)/FreeRTOS-Kernel
    for backend in STREAMING SNAPSHOT POST_MORTEM; do
        for format in 0 1; do
            for file in src/*.c; do
                options="-std=c11 -D_GNU_SOURCE -Dtband_configUSE_BACKEND_$backend=1 -Dtband_configCOMPAT=$format -Iinclude -Itests/kernel \
                    -Itests/kernel/posix -isystem $kernel/include -isystem $kernel/portable/ThirdParty/GCC/Posix \
                    -isystem $kernel/portable/ThirdParty/GCC/Posix/utils"
                gcc $options -O0 -c "$file" -o "$build/names.o" || fail "names, $file"
                # Symbols; macros and enumerators of the sources themselves.
                {
                    nm "$build/names.o" | awk '$(NF-1) != "U" { print $NF }' | sed 's/\.[0-9]*$//'
                    sed -n 's/^ *# *define \([A-Za-z_0-9]*\).*/\1/p; s/^\(struct\|enum\) \([a-z_0-9]*\) {.*/\2/p' "$file" src/tband_internal.h
                    sed -n 's/^enum [a-z_]* { \(.*\) };/\1/p' "$file" src/tband_internal.h | tr ', ' '\n\n'
                } | grep -v -i '^tband\|^$\|^configNUMBER_OF_CORES$\|^MPU_WRAPPERS_INCLUDED_FROM_API_FILE$\|^\.LC\|^__func__' | sort -u >"$build/names.txt"
                [ ! -s "$build/names.txt" ] || fail "$file defines $(tr '\n' ' ' <"$build/names.txt")"
            done
        done
    done
}

# What could not be tried for want of something, said at the end.
missing() {
    echo "$*" >>"$build/missing"
}

# Clean under all warnings for host and target, every subset of features; the header in C++; senseless settings.
compile() {
    on=-Dtband_configUSE_BACKEND_STREAMING=1
    : >"$build/compiled"
    for compiler in gcc clang g++ clang++ arm-none-eabi-gcc; do
        command -v $compiler >/dev/null || fail "there is no $compiler"
    done
    for compiler in gcc clang "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb"; do
        for backend in STREAMING SNAPSHOT POST_MORTEM EXTERNAL; do
            for options in "" -Dtband_configCOMPAT=1 -Dtband_configMARKER_TRACE_ENABLE=0 -Dtband_configISR_TRACE_ENABLE=0 \
                -Dtband_configUSE_METADATA_BUF=0 -Dtband_configENABLE=0 -DTEST_CORES=2 "-DTEST_CORES=4 -Dtband_configCOMPAT=1" \
                -Dtband_configMAX_STR_LEN=300 -Dtband_portTIMESTAMP_BITS=32 "-Dtband_configLOG_ENABLE=1 -Dtband_configFUNCTION_TRACE_ENABLE=1"; do
                beside compiled "$compiler $backend $options" $compiler -Dtband_configUSE_BACKEND_$backend=1 \
                    -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=20000 $options
            done
        done
    done
    kernel=$(kernel_source)/FreeRTOS-Kernel
    features="TASK QUEUE STREAM_BUFFER NOTIFY EVENT_GROUP TIMER HEAP"
    for compiler in gcc clang; do
        for format in 0 1; do
            for off in NONE $features; do
                beside kernel_compiled "$compiler FreeRTOS without $off compat=$format" $compiler $on \
                    -Dtband_configCOMPAT=$format -Dtband_configFREERTOS_${off}_TRACE_ENABLE=0
            done
            for backend in SNAPSHOT POST_MORTEM EXTERNAL; do
                for objects in 0 32; do
                    beside kernel_compiled "$compiler FreeRTOS $backend $objects objects compat=$format" $compiler \
                        -Dtband_configUSE_BACKEND_$backend=1 -Dtband_configCOMPAT=$format -Dtband_configFREERTOS_MAX_OBJECTS=$objects
                done
            done
        done
    done
    finish
    # The kernel's own files for two cores, with the hooks in them.
    for file in src/tband.c src/tband_backend.c src/tband_freertos.c; do
        gcc $warnings -O1 $on -DTEST_CORES=2 -Iinclude -Itests/kernel/smp -Itests/host -Itests/kernel -isystem "$kernel/include" \
            -c $file -o "$build/compiled.o" -Dtband_configFREERTOS_TRACE_ENABLE=1 || fail "SMP $file"
    done
    for file in tasks queue timers event_groups stream_buffer; do
        gcc -std=c11 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable -O1 $on -DTEST_CORES=2 \
            -Dtband_configFREERTOS_TRACE_ENABLE=1 -Iinclude -Itests/kernel/smp -Itests/host -Itests/kernel -I"$kernel/include" -c "$kernel/$file.c" -o "$build/compiled.o" ||
            fail "SMP kernel $file"
    done
    # With an MPU the hooks call the kernel, not its wrappers for tasks.
    for wrappers in 0 1; do
        arm-none-eabi-gcc $warnings -Wno-pedantic -Wno-shadow -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 $on \
            -DTEST_MPU -DconfigUSE_MPU_WRAPPERS_V1=$wrappers -Iinclude -Itests/kernel -Itests/kernel/qemu -isystem "$kernel/include" \
            -isystem "$kernel/portable/GCC/ARM_CM4_MPU" -c src/tband_freertos.c -o "$build/compiled.o" || fail "MPU, wrappers V1 $wrappers"
        # Except the three that find the object of a handle.
        arm-none-eabi-nm "$build/compiled.o" | grep MPU_ | grep -v 'MPU_uxQueueMessagesWaiting$\|MPU_xStreamBufferIsEmpty$\|MPU_uxEventGroupGetNumber$' && fail "MPU: the wrappers for tasks are called"
    done
    # Supervisor calls: the handler, and calls from C and C++.
    printf '%s\n' '#include "tband.h"' '#include "tband_unprivileged.h"' 'void f(const char *text);' \
        'void f(const char *text) { tband_evtmarker(1, text); tband_valmarker(2, -1); tband_freertos_task_evtmarker_end(3); }' >"$build/unprivileged.c"
    arm="-mthumb -Os $on -DINC_FREERTOS_H -DconfigUSE_TRACE_FACILITY=1 -Dtband_configFREERTOS_TRACE_ENABLE=1 -Iinclude -Itests/host -Iport/cortex_m_mpu"
    for core in cortex-m3 cortex-m4 cortex-m33; do
        for options in "" -Dtband_configLOG_ENABLE=1 -Dtband_configMARKER_TRACE_ENABLE=0 -Dtband_configENABLE=0; do
            for compiler in arm-none-eabi-gcc "clang --target=arm-none-eabi -isystem $(arm_headers)"; do
                for file in port/cortex_m_mpu/tband_unprivileged.c "$build/unprivileged.c"; do
                    $compiler $warnings -Wundef -mcpu=$core $arm $options -c "$file" -o "$build/compiled.o" || fail "$file, $core, $options, $compiler"
                done
            done
        done
        arm-none-eabi-g++ -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -mcpu=$core $arm -x c++ -c "$build/unprivileged.c" \
            -o "$build/compiled.o" || fail "supervisor calls from C++"
    done
    for options in "" -Dtband_configENABLE=0 -Dtband_configMARKER_TRACE_ENABLE=0 -Dtband_configISR_TRACE_ENABLE=0 -Dtband_configLOG_ENABLE=1; do
        for compiler in g++ clang++; do
            $compiler -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror $on $options -Iinclude -Itests/host \
                -c tests/test_header.cpp -o "$build/header.o" || fail "$compiler header $options"
        done
    done
    # The examples run; the ports compile for what they are for.
    for compiler in gcc clang; do
        mkdir -p "$build/quickstart" "$build/sensor"
        $compiler $warnings -D_POSIX_C_SOURCE=200809L -Iinclude -Iexamples/quickstart -Iport/posix examples/quickstart/main.c \
            src/*.c -o "$build/quickstart/app" && (cd "$build/quickstart" && ./app) || fail "quickstart, $compiler"
        $compiler $warnings -Iinclude -Iexamples/sensor examples/sensor/main.c src/*.c -o "$build/sensor/app" &&
            (cd "$build/sensor" && ./app) || fail "sensor, $compiler"
    done
    ports
    zephyr
    names
    refuses "exactly one of" -Dtband_configUSE_BACKEND_STREAMING=0
    refuses "exactly one of" $on -Dtband_configUSE_BACKEND_SNAPSHOT=1
    refuses "tband_configENABLE must be" $on -Dtband_configENABLE=2
    refuses "tband_configCOMPAT must be" $on -Dtband_configCOMPAT=2
    refuses "tband_configMAX_STR_LEN must be" $on -Dtband_configMAX_STR_LEN=0
    refuses "tband_configSYNC_EVERY must be" $on -Dtband_configSYNC_EVERY=0
    refuses "tband_configTRACE_DROP_CNT_EVERY must be" $on -Dtband_configTRACE_DROP_CNT_EVERY=-1
    refuses "tband_configMETADATA_BUF_SIZE must be" $on -Dtband_configMETADATA_BUF_SIZE=0
    refuses "SNAPSHOT_BUF_SIZE must be" -Dtband_configUSE_BACKEND_SNAPSHOT=1 -Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=0
    refuses "SEGMENTS must be" -Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configBACKEND_POST_MORTEM_SEGMENTS=1
    refuses "must give each segment" -Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=800
    refuses "tband_portTIMESTAMP_BITS must be" $on -Dtband_portTIMESTAMP_BITS=48
    refuses "configUSE_TRACE_FACILITY" $on -Dtband_configFREERTOS_TRACE_ENABLE=1 -DINC_FREERTOS_H -DconfigUSE_TRACE_FACILITY=0
    refuses "configUSE_TRACE_FACILITY" $on -Dtband_configFREERTOS_TRACE_ENABLE=1 -DINC_FREERTOS_H
    refuses "tband_portNUMBER_OF_CORES must be" $on -DTEST_CORES=17
    refuses "needs the superset" $on -Dtband_configCOMPAT=1 -Dtband_configFUNCTION_TRACE_ENABLE=1
    refuses "needs the superset" $on -Dtband_configCOMPAT=1 -Dtband_configLOG_ENABLE=1
    for setting in USE_METADATA_BUF MARKER_TRACE_ENABLE FREERTOS_TASK_TRACE_ENABLE; do
        refuses "tband_config$setting must be 0 or 1" $on -Dtband_config$setting=2
        refuses "undeclared" $on -Dtband_config$setting=yes
    done
    refuses "FUNCTION_MAX_DEPTH must be" $on -Dtband_configFUNCTION_MAX_DEPTH=65536
    refuses "FUNCTION_TASKS must be" $on -Dtband_configFUNCTION_TASKS=0
    refuses "METADATA_REPEAT_EVERY must be" $on -Dtband_configMETADATA_REPEAT_EVERY=-1
    # A tick of 5.95 ns is 6 within a percent, one of 0.83 ns is no whole number; who says so may have it.
    plain="-Dtband_configUSE_BACKEND_STREAMING=1 -Dtband_configCOMPAT=1"
    refuses "within 1 %" $plain -DTEST_HZ=1200000000u
    refuses "within 1 %" $plain -DTEST_HZ=216000000u
    for hz in 168000000u 32768u "(test_clock)"; do
        gcc $warnings $plain "-DTEST_HZ=$hz" -Iinclude -Itests/host -c src/tband.c -o "$build/compiled.o" || fail "clock of $hz Hz"
    done
    # A kernel without the hooks would record nothing.
    if gcc -std=c11 $on -Dtband_configENABLE=1 -Dtband_configFREERTOS_TRACE_ENABLE=1 -Iinclude -Itests/host -Itests/ports/esp32/freertos \
        -c src/tband_freertos.c -o "$build/refused.o" 2>"$build/refused.log" || ! grep -q "must include tband.h" "$build/refused.log"; then
        fail "a kernel without hooks"
    fi
    # Two cores need a lock that locks.
    if arm-none-eabi-gcc -std=c11 -mcpu=cortex-m0plus -mthumb $on -DTEST_CORES=2 -Iinclude -Itests/host -c src/tband.c \
        -o "$build/refused.o" 2>"$build/refused.log" || ! grep -q "no atomic exchange" "$build/refused.log"; then
        fail "two Cortex-M0+ without a spinlock"
    fi
    echo "compile: $(wc -l <"$build/compiled") configurations at -O0, -O2 and -Os or with the kernel, and what must not compile"
    rm -f "$build/compiled"
}

kernel_source() {
    cargo metadata --quiet --format-version 1 --manifest-path tests/kernel/Cargo.toml |
        sed 's/.*"manifest_path":"\([^"]*freertos-next-[^"]*\)\/Cargo.toml".*/\1/'
}

# build_and_run <posix|qemu> <name> <folder> <option>...: the application on the real kernel, then its capture against its log.
build_and_run() {
    platform=$1
    name=$2
    folder=$3
    shift 3
    mkdir -p "$folder"
    rm -f "$folder/capture.bin" "$folder/log.txt"
    options="-std=gnu11 -g -O2 -w -Iinclude -Itests/kernel -Itests/kernel/$platform -I$kernel/include $*"
    sources="tests/kernel/app.c tests/kernel/$platform/platform.c src/tband.c src/tband_backend.c src/tband_freertos.c \
        $kernel/tasks.c $kernel/queue.c $kernel/list.c $kernel/timers.c $kernel/event_groups.c $kernel/stream_buffer.c \
        $kernel/portable/MemMang/heap_4.c"
    if [ "$platform" = posix ]; then
        port="$kernel/portable/ThirdParty/GCC/Posix"
        gcc $options -D_GNU_SOURCE -I"$port" -I"$port/utils" $sources "$port/port.c" "$port/utils/wait_for_event.c" \
            -lpthread -o "$folder/app" && (cd "$folder" && run ./app)
    elif [ "$platform" = riscv ]; then
        port="$kernel/portable/GCC/RISC-V"
        extensions="$port/chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions"
        riscv64-unknown-elf-gcc $options -misa-spec=2.2 -march=rv32imac -mabi=ilp32 --specs=picolibc.specs --oslib=semihost --crt0=semihost \
            -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=0x400000,--defsym=__ram=0x80400000,--defsym=__ram_size=0x800000 \
            -I"$port" -I"$extensions" $sources "$port/port.c" "$port/portASM.S" -o "$folder/app" &&
            (cd "$folder" && run qemu-system-riscv32 -M virt -bios none -icount shift=0 -nographic -monitor none -serial none \
                -semihosting-config enable=on,target=native -kernel app)
    else
        port="$kernel/portable/GCC/ARM_CM4F"
        arm-none-eabi-gcc $options -DAPP_CHECKS_MASK -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 --specs=nano.specs \
            --specs=nosys.specs -nostartfiles -T tests/kernel/qemu/mps2.ld -ffunction-sections -Wl,--gc-sections -I"$port" \
            $sources tests/kernel/qemu/startup.c "$port/port.c" -o "$folder/app" 2>/dev/null &&
            (cd "$folder" && in_qemu app)
    fi || fail "$platform $name"
    # Every event occurs, where time is simulated: on a host under load one task or another does not have to wait.
    all=""
    [ "$platform $name" = "qemu STREAMING round=4 compat=0" ] && all=all
    [ "$name" = "STREAMING, losses" ] && all=losses
    checked=$("$build/check" "$folder/capture.bin" "$folder/log.txt" $all) || fail "$platform $name"
    echo "$platform $name: $checked"
    # With the clock of a usual microcontroller (25 MHz); the host's counts nanoseconds.
    case "$platform $name" in
    "qemu STREAMING"*compat=0) echo "$checked" | awk '{ exit !($3 > 0 && $3 <= 7.0) }' || fail "$name: more than 7.0 bytes per event" ;;
    esac
}

kernel() {
    kernel=$(kernel_source)/FreeRTOS-Kernel
    if [ ! -f "$kernel/tasks.c" ]; then
        fail "no FreeRTOS kernel source at '$kernel'"
        return
    fi
    gcc $warnings -Wno-conversion -g tests/kernel/check.c tests/decode.c -o "$build/check" || fail "check"
    for backend in STREAMING SNAPSHOT POST_MORTEM; do
        for round in 0 4; do
            for compat in 0 1; do
                beside build_and_run "$1" "$backend round=$round compat=$compat" "$build/$1-$backend-$round-$compat" \
                    -Dtband_configUSE_BACKEND_$backend=1 -DAPP_START_ROUND=$round -Dtband_configCOMPAT=$compat
            done
        done
    done
    # Records from the first event on: nothing starts it.
    for compat in 0 1; do
        beside build_and_run "$1" "EXTERNAL compat=$compat" "$build/$1-EXTERNAL-0-$compat" \
            -Dtband_configUSE_BACKEND_EXTERNAL=1 -Dtband_configCOMPAT=$compat
    done
    if [ "$1" = qemu ]; then
        beside build_and_run qemu "SNAPSHOT, ticks of 16 bits" "$build/qemu-ticks16" -DconfigUSE_16_BIT_TICKS=1 \
            -Dtband_configUSE_BACKEND_SNAPSHOT=1
        # Names again and again, also of objects that are just made.
        beside build_and_run qemu "STREAMING, syncs often" "$build/qemu-often" -Dtband_configSYNC_EVERY=2 \
            -Dtband_configUSE_BACKEND_STREAMING=1
        beside build_and_run qemu "STREAMING, before the scheduler" "$build/qemu-before" -DAPP_START_ROUND=-1 \
            -Dtband_configUSE_BACKEND_STREAMING=1
        beside build_and_run qemu "STREAMING, losses" "$build/losses-qemu" -DAPP_REFUSE -Dtband_configUSE_BACKEND_STREAMING=1
        for compat in 0 1; do
            beside build_and_run qemu "POST_MORTEM reset compat=$compat" "$build/qemu-reset-$compat" -DAPP_RESET \
                -Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configCOMPAT=$compat
        done
    fi
    finish
}

# The same on an emulated RISC-V.
riscv() {
    if ! command -v qemu-system-riscv32 >/dev/null; then
        missing "qemu-system-riscv32: the RISC-V port on a running kernel"
        return
    fi
    kernel riscv
}

# The kernel on two harts of an emulated RISC-V, which run at the same time.
smp() {
    if ! command -v qemu-system-riscv32 >/dev/null; then
        missing "qemu-system-riscv32: the kernel on two cores"
        return
    fi
    kernel=$(kernel_source)/FreeRTOS-Kernel
    here=tests/kernel/smp/riscv
    isa="-misa-spec=2.2 -march=rv32imac -mabi=ilp32"
    mkdir -p "$build/smp"
    rm -f "$build/smp/capture.bin"
    gcc $warnings -Wno-conversion -O1 $here/check.c tests/decode.c -o "$build/smp/check" || fail "SMP: check"
    riscv64-unknown-elf-gcc $isa -c $here/start.S -o "$build/smp/start.o" &&
        riscv64-unknown-elf-gcc $isa -std=gnu11 -g -O2 -w --specs=picolibc.specs --oslib=semihost --crt0=semihost -Wl,--no-warn-rwx-segments \
            -Wl,-u,smp_start -Wl,--section-start=.smp_start=0x80000000 -Wl,--defsym=__flash=0x80001000,--defsym=__flash_size=0x400000 \
            -Wl,--defsym=__ram=0x80500000,--defsym=__ram_size=0x800000 -Dtband_configUSE_BACKEND_STREAMING=1 -Iinclude -I$here \
            -Itests/kernel/smp -Itests/kernel "-I$kernel/include" "$build/smp/start.o" $here/app.c $here/port.c src/*.c "$kernel/tasks.c" \
            "$kernel/queue.c" "$kernel/list.c" "$kernel/timers.c" "$kernel/portable/MemMang/heap_4.c" -o "$build/smp/app" &&
        (cd "$build/smp" && run qemu-system-riscv32 -M virt -smp 2 -bios none -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel app) && "$build/smp/check" "$build/smp/capture.bin" || fail "SMP"
}

. tests/random.sh

# The MiniProfiler target, instrumented and with sanitizers; what traceconv makes of it is checked by xtask.
miniprofiler() {
    mkdir -p "$build/miniprofiler"
    for compiler in gcc clang; do
        $compiler $warnings -fsanitize=address,undefined -fno-sanitize-recover=all -finstrument-functions \
            tests/miniprofiler/test.c miniprofiler/miniprofiler.c -o "$build/miniprofiler/test" &&
            (cd "$build/miniprofiler" && run ./test) || fail "MiniProfiler, $compiler"
    done
    arm-none-eabi-gcc $warnings -mcpu=cortex-m4 -mthumb -Os -c miniprofiler/miniprofiler.c -o "$build/miniprofiler/target.o" ||
        fail "MiniProfiler for the target"
}

# Traced functions, at any depth and down to two; the last recording stays, for xtask to find the functions' names in it.
functions() {
    mkdir -p "$build/functions"
    for depth in 2 0; do
        for compiler in gcc clang; do
            options="-g -O1 -fno-pie -D_POSIX_C_SOURCE=200809L -Dtband_configENABLE=1 -Dtband_configUSE_BACKEND_STREAMING=1 \
-Dtband_configFUNCTION_TRACE_ENABLE=1 -Dtband_configFUNCTION_MAX_DEPTH=$depth -Iinclude -Itests/ports -Iport/posix"
            [ $depth = 0 ] || options="$options -DMAX_DEPTH=$depth"
            $compiler $warnings $options -finstrument-functions -c tests/functions/main.c -o "$build/functions/main.o" &&
                $compiler -no-pie "$build/functions/main.o" tests/decode.c src/*.c $options -o "$build/functions/program" &&
                (cd "$build/functions" && run ./program) || fail "functions to depth $depth, $compiler"
        done
    done
    # With the sources excluded instead, as one compiles a project.
    gcc $warnings $options -finstrument-functions -finstrument-functions-exclude-file-list=tband -c src/tband.c -o "$build/functions/tband.o" &&
        ! nm "$build/functions/tband.o" | grep -q __cyg_profile || fail "functions: the library traces itself"
}

# logs <name> <folder> <statement>: the compiler's opinion of a message.
log_compiled() {
    printf '#include "tband.h"\nvoid f(int level, int n);\nvoid f(int level, int n) { (void)level; (void)n; %s; }\n' "$2" >"$build/logging/call.c"
    gcc -std=c11 -Wall -Werror -Wno-unused-parameter -Iinclude -Itests/host -Dtband_configUSE_BACKEND_STREAMING=1 -Dtband_configLOG_ENABLE=$1 \
        -c "$build/logging/call.c" -o "$build/logging/call.o" 2>"$build/logging/call.log"
}

# Messages: what the host makes of the recording is compared with printf's texts by xtask. Functions and messages of tasks as well.
logging() {
    mkdir -p "$build/logging"
    options="-g -O1 -fno-pie -D_POSIX_C_SOURCE=200809L -Dtband_configENABLE=1 -Dtband_configUSE_BACKEND_STREAMING=1 \
-Dtband_configLOG_ENABLE=1 -Iinclude -Itests/ports -Iport/posix"
    for compiler in gcc clang; do
        $compiler $warnings -Wno-double-promotion -no-pie $options tests/logging/main.c src/*.c -o "$build/logging/program" &&
            (cd "$build/logging" && run ./program) || fail "logging, $compiler"
    done
    # The library is C, its user C++.
    mkdir -p "$build/logging/cxx"
    for file in tband tband_backend; do
        gcc $warnings $options -c src/$file.c -o "$build/logging/cxx/$file.o" || fail "logging: $file"
    done
    for compiler in g++ clang++; do
        $compiler -std=c++17 ${warnings#* } -Wno-double-promotion -no-pie $options -x c++ tests/logging/main.c -x none \
            "$build"/logging/cxx/*.o -o "$build/logging/cxx/program" && (cd "$build/logging/cxx" && run ./program) || fail "logging, $compiler"
    done
    for enabled in 0 1; do
        log_compiled $enabled 'tband_log(TBAND_LOG_INFO, "%d", n)' || fail "logging: a message does not compile"
        for wrong in '"%s", n' '"%d"' '"%d", n, n' '"%lld", n'; do
            log_compiled $enabled "tband_log(TBAND_LOG_INFO, $wrong)" && fail "logging: no warning of $wrong, LOG_ENABLE=$enabled"
        done
    done
    log_compiled 1 'tband_log(level, "x")' && fail "logging: a severity that is not constant compiles"
    log_compiled 1 'tband_log(TBAND_LOG_INFO, "%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9)' && fail "logging: nine arguments compile"
    grep -q more_than_8_arguments "$build/logging/call.log" || fail "logging: of nine arguments the compiler does not say what is wrong"
    # What is below the level is not compiled.
    gcc $warnings -O1 $options -Dtband_configLOG_LEVEL=5 -c tests/logging/main.c -o "$build/logging/call.o" &&
        [ "$(readelf -p .tband_log "$build/logging/call.o" | grep -c say.h:)" = 2 ] ||
        fail "logging: the level"
    # Of two tasks on the kernel, with their functions.
    kernel=$(kernel_source)/FreeRTOS-Kernel
    port="$kernel/portable/GCC/ARM_CM4F"
    arm="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    options="-std=gnu11 -g -O2 -Dtband_configUSE_BACKEND_STREAMING=1 -Dtband_configLOG_ENABLE=1 -Dtband_configFUNCTION_TRACE_ENABLE=1 \
-Iinclude -Itests/kernel -Itests/kernel/qemu -I$kernel/include -I$port"
    mkdir -p "$build/logging/tasks"
    rm -f "$build/logging/tasks/"*
    arm-none-eabi-gcc $arm $options -Wall -Wextra -Werror -finstrument-functions -c tests/functions/tasks.c -o "$build/logging/tasks/tasks.o" &&
        linked arm-none-eabi-gcc $arm -w $options --specs=nosys.specs -nostartfiles -T tband_log.ld -T tests/kernel/qemu/mps2.ld \
            -ffunction-sections -Wl,--gc-sections "$build/logging/tasks/tasks.o" tests/kernel/qemu/platform.c tests/kernel/qemu/startup.c \
            src/*.c "$kernel/tasks.c" "$kernel/queue.c" "$kernel/list.c" "$kernel/timers.c" "$kernel/portable/MemMang/heap_4.c" "$port/port.c" -o "$build/logging/tasks/app" || fail "logging for the kernel"
    if command -v qemu-system-arm >/dev/null; then
        (cd "$build/logging/tasks" && in_qemu app) || fail "logging on the kernel"
    else
        missing "qemu-system-arm: messages of two tasks"
    fi
    # The formats are in the file, and not in memory.
    arm-none-eabi-objdump -h "$build/logging/tasks/app" | grep -A1 ' [.]tband_log ' | grep -q READONLY || fail "logging: no section"
    arm-none-eabi-objdump -h "$build/logging/tasks/app" | grep -A1 ' [.]tband_log ' | grep -q 'ALLOC\|LOAD' && fail "logging: formats are loaded"
}

# ---- As other build systems see it --------------------------------------------------------------------------------------------

# The quickstart, built by CMake from the source and from where it was installed; what describes the library to other tools is
# well-formed and names files that are there.
packages() {
    if ! command -v cmake >/dev/null; then
        missing "cmake: the packages"
        return
    fi
    work=$build/packages
    rm -rf "$work"
    mkdir -p "$work/source" "$work/installed"
    for way in source installed; do
        case $way in
        source) get="add_subdirectory($target tband)" ;;
        installed) get="find_package(tband 0.1 REQUIRED)" ;;
        esac
        cat >"$work/$way/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(firmware C)
set(CMAKE_C_STANDARD 11)
set(TBAND_PORT posix)
$get
add_executable(firmware $target/examples/quickstart/main.c)
target_include_directories(firmware PRIVATE $target/examples/quickstart)
target_compile_definitions(firmware PRIVATE _POSIX_C_SOURCE=200809L tband_configFUNCTION_TRACE_ENABLE=1)
target_link_libraries(firmware PRIVATE tband::tband)
EOF
        {
            cmake -S "$work/$way" -B "$work/$way/build" "-DCMAKE_PREFIX_PATH=$work/prefix" &&
                cmake --build "$work/$way/build" && (cd "$work/$way" && ./build/firmware && test -s trace.bin) &&
                nm "$work/$way/build/firmware" | grep -q ' T __cyg_profile_func_enter' &&
                { [ $way = installed ] || cmake --install "$work/$way/build" --prefix "$work/prefix"; }
        } >"$work/$way.log" 2>&1 || { fail "CMake, $way"; tail -5 "$work/$way.log"; }
    done
    # The kernel as a library of its own, whose FreeRTOSConfig.h includes tband.h.
    kernel=$(kernel_source)/FreeRTOS-Kernel
    mkdir -p "$work/kernel"
    cat >"$work/kernel/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(firmware C)
set(TBAND_PORT $target/tests/kernel/posix)
set(TBAND_FREERTOS ON)
add_subdirectory($target tband)
add_library(freertos_config INTERFACE)
target_include_directories(freertos_config INTERFACE $target/tests/kernel)
target_compile_definitions(freertos_config INTERFACE _GNU_SOURCE tband_configUSE_BACKEND_STREAMING=1)
target_link_libraries(freertos_config INTERFACE tband::headers)
set(posix $kernel/portable/ThirdParty/GCC/Posix)
add_library(freertos_kernel STATIC $kernel/tasks.c $kernel/queue.c $kernel/list.c $kernel/timers.c $kernel/event_groups.c
    $kernel/stream_buffer.c $kernel/portable/MemMang/heap_4.c \${posix}/port.c \${posix}/utils/wait_for_event.c)
target_include_directories(freertos_kernel PUBLIC $kernel/include \${posix} \${posix}/utils)
target_link_libraries(freertos_kernel PUBLIC freertos_config pthread)
add_executable(firmware $target/tests/kernel/app.c $target/tests/kernel/posix/platform.c)
target_link_libraries(firmware PRIVATE freertos_kernel tband::tband)
EOF
    (cmake -S "$work/kernel" -B "$work/kernel/build" && cmake --build "$work/kernel/build" && cd "$work/kernel" && run ./build/firmware &&
        test -s capture.bin && ! nm build/libfreertos_kernel.a | grep ' T tband') >"$work/kernel.log" 2>&1 ||
        { fail "CMake, the kernel as a library"; tail -5 "$work/kernel.log"; }
    cat >"$work/json.cmake" <<EOF
file(READ $target/library.json text)
string(JSON files GET "\${text}" build srcFilter)
EOF
    cmake -P "$work/json.cmake" || fail "library.json"
    for file in $(sed -n 's/.*srcFilter": \[\(.*\)\].*/\1/p' library.json | tr -d '"+<>' | tr ',' ' ') \
        $(sed -n 's/.*SRCS \(.*\)$/\1/p' CMakeLists.txt) \
        $(sed -n 's/.*${root}\/\([a-z_/]*\.c\).*/\1/p' zephyr/CMakeLists.txt); do
        ls $file >/dev/null || fail "a package names $file"
    done
    # Every package has what may be switched on.
    for list in CMakeLists.txt cmake/tband.cmake zephyr/CMakeLists.txt rust/build.rs; do
        for file in src/tband.c src/tband_backend.c src/tband_functions.c; do
            grep -q "$file" $list || fail "$list has no $file"
        done
    done
    for word in name version author maintainer sentence paragraph category url architectures; do
        grep -q "^$word=." library.properties || fail "library.properties has no $word"
    done
    # Arduino compiles what is in src, and finds headers there only.
    gcc -std=c11 -Isrc -Iport/posix -Iexamples/quickstart -D_POSIX_C_SOURCE=200809L -c src/tband.c -o "$work/arduino.o" || fail "Arduino"
}

# ---- All kernels -------------------------------------------------------------------------------------------------------------

# The kernels there are: folders.
kernels_there() {
    if [ -n "${FREERTOS_KERNELS:-}" ]; then
        ls -d "$FREERTOS_KERNELS"/*/
    else
        kernel_source | sed 's|$|/FreeRTOS-Kernel/|'
    fi
}

kernel_version() {
    sed -n 's/^#define tskKERNEL_VERSION_NUMBER *"\(.*\)".*/\1/p' "$1/include/task.h"
}

# kernel_tried <folder>: one kernel in every configuration, and what came out as a row of a table.
kernel_tried() {
    kernel=${1%/}
    version=$(kernel_version "$kernel")
    # A release may have another name in its sources.
    [ -z "${FREERTOS_KERNELS:-}" ] || version=$(basename "$kernel")
    work=$build/kernels/$version
    mkdir -p "$work"
    cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    of_kernel="-Itests/kernel/qemu -isystem $kernel/include -isystem $kernel/portable/GCC/ARM_CM4F"
    row="| $version |"
    for configuration in all plain few none; do
        result=yes
        options="-Dtband_configUSE_BACKEND_STREAMING=1"
        case $configuration in
        plain) options="$options -Dtband_configCOMPAT=1" ;;
        few) options="$options -Dtband_configFREERTOS_QUEUE_TRACE_ENABLE=0 -Dtband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE=0 \
-Dtband_configFREERTOS_NOTIFY_TRACE_ENABLE=0 -Dtband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE=0 \
-Dtband_configFREERTOS_TIMER_TRACE_ENABLE=0 -Dtband_configFREERTOS_HEAP_TRACE_ENABLE=0" ;;
        none) options="$options -Dtband_configFREERTOS_TASK_TRACE_ENABLE=0 -Dtband_configFREERTOS_MAX_OBJECTS=0" ;;
        esac
        for compiler in "arm-none-eabi-gcc $cpu" "clang --target=arm-none-eabi $cpu -isystem $(arm_headers)"; do
            for file in src/*.c; do
                $compiler $warnings -Wno-pedantic -Os $options -Iinclude -Itests/kernel $of_kernel -c "$file" \
                    -o "$work/$(basename "$file").${compiler%% *}.o" || result=no
            done
            # The kernel's own files, with the hooks in them. Warnings there are the kernel's, but those of C99 are errors.
            for file in tasks queue timers event_groups stream_buffer portable/MemMang/heap_4; do
                $compiler -std=gnu11 -w -Werror=implicit-function-declaration -Os $options -Iinclude -Itests/kernel $of_kernel \
                    -c "$kernel/$file.c" -o "$work/kernel.o" || result=no
            done
        done
        bytes=$(arm-none-eabi-size -t "$work"/*.arm-none-eabi-gcc.o | awk 'END { print $1 + $2 }')
        if [ $result = yes ]; then row="$row $bytes |"; else row="$row no |"; fail "kernel $version, $configuration"; fi
    done
    # The other ports that come with this kernel here.
    others=
    for port in ARM_CM0/cortex_m0 ARM_CM3/cortex_m_freertos RISC-V/riscv; do
        folder=$kernel/portable/GCC/${port%/*}
        [ -d "$folder" ] || continue
        case $port in
        ARM_CM0*) other="arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb" ;;
        ARM_CM3*) other="arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb" ;;
        *)
            other="riscv64-unknown-elf-gcc --specs=picolibc.specs -misa-spec=2.2 -march=rv32imac -mabi=ilp32 \
-isystem $folder/chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions"
            command -v riscv64-unknown-elf-gcc >/dev/null || { missing "riscv64-unknown-elf-gcc: kernels for RISC-V"; continue; }
            ;;
        esac
        result=yes
        other="$other -Os -DconfigENABLE_MPU=0 -Dtband_configUSE_BACKEND_STREAMING=1 -Iinclude -Itests/kernel -Iport/${port#*/} -Iport/sinks \
-isystem $kernel/include -isystem $folder"
        for file in src/*.c; do
            $other $warnings -Wno-pedantic -c "$file" -o "$work/other.o" || result=no
        done
        for file in tasks queue timers event_groups stream_buffer; do
            $other -std=gnu11 -w -Werror=implicit-function-declaration -c "$kernel/$file.c" -o "$work/other.o" || result=no
        done
        if [ $result = yes ]; then others="$others${others:+, }${port%/*}"; else fail "kernel $version, $port"; fi
    done
    rm -f "$work/other.o"
    row="$row ${others:--} |"
    # Only the files that every application has, nothing removed by the linker: what is not built is not needed.
    result=no
    sources="tests/kernel/minimal/app.c tests/kernel/qemu/platform.c src/tband.c src/tband_backend.c src/tband_freertos.c \
$kernel/tasks.c $kernel/queue.c $kernel/list.c $kernel/portable/MemMang/heap_4.c $kernel/portable/GCC/ARM_CM4F/port.c"
    mkdir -p "$work/minimal"
    rm -f "$work/minimal/capture.bin"
    linked arm-none-eabi-gcc -std=gnu11 -g -O2 -w $cpu --specs=nano.specs --specs=nosys.specs -nostartfiles \
        -T tests/kernel/qemu/mps2.ld -Dtband_configUSE_BACKEND_STREAMING=1 -Iinclude -Itests/kernel/minimal -Itests/kernel $of_kernel \
        $sources tests/kernel/qemu/startup.c -o "$work/minimal/app" && (cd "$work/minimal" && in_qemu app) &&
        "$build/check" "$work/minimal/capture.bin" "$work/minimal/log.txt" switches >"$work/minimal/log" && result=yes
    [ $result = yes ] || { fail "kernel $version, minimal"; cat "$work/minimal/log"; }
    row="$row $result |"
    case ${FREERTOS_KERNELS:+$version} in
    V10.3* | V10.4.3 | V10.5*) row="$row - |" ;;
    *)
        checked=
        build_and_run qemu "STREAMING $version" "$work/app" -Dtband_configUSE_BACKEND_STREAMING=1 -DAPP_START_ROUND=4
        row="$row $(echo "$checked" | awk '{ print $1 " events, " $6 " notes agree" }') |"
        ;;
    esac
    echo "$row" >"$work/row"
}

arm_headers() {
    for folder in /usr/lib/arm-none-eabi/include /usr/arm-none-eabi/include; do
        [ -d $folder ] && echo $folder && return
    done
    echo .
}

in_qemu() {
    run qemu-system-arm -M mps2-an386 -icount shift=0 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$1" 2>&1
}

kernels() {
    gcc $warnings -Wno-conversion -g tests/kernel/check.c tests/decode.c -o "$build/check" || fail "check"
    rm -rf "$build/kernels"
    for kernel in $(kernels_there); do
        beside kernel_tried "$kernel"
    done
    finish
    echo "| kernel | all events | plain format | only tasks | no tasks, no objects | other ports | minimal, cooperative | run on a Cortex-M4 |"
    echo "|---|---|---|---|---|---|---|---|"
    cat "$build"/kernels/*/row
    [ -n "${FREERTOS_KERNELS:-}" ] || missing "FREERTOS_KERNELS: kernels other than that of the registry"
}

# The applications of others, unchanged: built with all sanitizers, recorded. What traceconv makes of them is checked by xtask.
firmware() {
    applications=${FREERTOS_KERNELS:+$FREERTOS_KERNELS/../firmware}
    if [ ! -d "${applications:-/nowhere}" ]; then
        missing "FREERTOS_KERNELS/../firmware: applications of the original library"
        return
    fi
    kernel=$(kernel_source)/FreeRTOS-Kernel
    for name in simulated_target posix_freertos; do
        mkdir -p "$build/firmware/$name"
        rm -f "$build/firmware/$name/trace.bin"
    done
    sanitized="-Wall -Wextra -Wshadow -g -fsanitize=undefined,address -fno-sanitize-recover=all"
    gcc $sanitized -Wpedantic -Werror -Itests/firmware -Iinclude -I"$applications/simulated_target" "$applications"/simulated_target/*.c \
        src/tband.c src/tband_backend.c -o "$build/firmware/simulated_target/app" &&
        (cd "$build/firmware/simulated_target" && run ./app) || fail "simulated_target"
    posix=$kernel/portable/ThirdParty/GCC/Posix
    gcc -std=gnu11 $sanitized -Wno-unused-parameter -Wno-shadow -Iinclude -I"$applications/posix_freertos/inc" -I"$posix" -I"$posix/utils" -I"$kernel/include" \
        "$applications"/posix_freertos/src/*.c src/*.c "$kernel"/tasks.c "$kernel"/queue.c "$kernel"/list.c "$kernel"/timers.c \
        "$kernel"/event_groups.c "$kernel"/stream_buffer.c "$kernel"/croutine.c "$posix"/port.c "$posix"/utils/wait_for_event.c \
        -lpthread -o "$build/firmware/posix_freertos/app" &&
        (cd "$build/firmware/posix_freertos" && WRITE_TRACE=trace.bin run ./app) || fail "posix_freertos"
    for name in simulated_target posix_freertos; do
        [ -s "$build/firmware/$name/trace.bin" ] || fail "$name recorded nothing"
    done
}

# What README.md says under "Ten minutes", with the kernel that is here in place of the one that it fetches, in an empty folder.
ten_minutes() {
    kernel=${FREERTOS_KERNELS:+$(ls -d "$FREERTOS_KERNELS"/*/ | grep -v V11 | head -1)}
    # Only some kernels come with the port for Cortex-M3.
    [ -n "$kernel" ] && [ -d "$kernel/portable/GCC/ARM_CM3" ] || kernel=$(kernel_source)/FreeRTOS-Kernel
    rm -rf "$build/ten-minutes"
    mkdir -p "$build/ten-minutes"
    sed -n '/<!-- run: ten minutes -->/,/^```$/p' README.md | sed '/^```/d; /^<!--/d; /^git clone/d; /^traceconv /d' >"$build/ten-minutes.sh"
    [ "$(wc -l <"$build/ten-minutes.sh")" -ge 5 ] || fail "README.md has no ten minutes"
    (cd "$build/ten-minutes" && TBAND="$target" KERNEL="${kernel%/}" run sh -eu "$build/ten-minutes.sh") >"$build/ten-minutes.log" 2>&1 ||
        { fail "ten minutes"; tail -5 "$build/ten-minutes.log"; }
    [ -s "$build/ten-minutes/trace.bin" ] || fail "ten minutes: no trace.bin"
}

# recording <posix|qemu> <name> <option>...: one of the captures in testdata, and the application's log.
recording() {
    platform=$1
    name=$2
    shift 2
    build_and_run "$platform" "$name" "$build/$name" "$@"
    cp "$build/$name/capture.bin" "../testdata/tonbandgeraet/$name.bin"
    cp "$build/$name/log.txt" "../testdata/tonbandgeraet/$name.log.txt"
}

# Records those captures of testdata again that come from a kernel; not part of the tests. `cargo xtask bless` then writes the views.
captures() {
    kernel=$(kernel_source)/FreeRTOS-Kernel
    gcc $warnings -Wno-conversion -g tests/kernel/check.c tests/decode.c -o "$build/check" || fail "check"
    ring="-Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=6144"
    recording posix kernel_streaming -Dtband_configUSE_BACKEND_STREAMING=1 -DAPP_ROUNDS=4 -DAPP_START_ROUND=2
    recording posix kernel_plain -Dtband_configUSE_BACKEND_STREAMING=1 -DAPP_ROUNDS=2 -Dtband_configCOMPAT=1
    recording posix kernel_snapshot -Dtband_configUSE_BACKEND_SNAPSHOT=1 -DAPP_ROUNDS=2
    recording posix kernel_post_mortem $ring -DAPP_ROUNDS=5
    recording posix kernel_plain_post_mortem $ring -DAPP_ROUNDS=5 -Dtband_configCOMPAT=1
    recording posix kernel_external -Dtband_configUSE_BACKEND_EXTERNAL=1 -DAPP_ROUNDS=2
    recording qemu cortex_m4_streaming -Dtband_configUSE_BACKEND_STREAMING=1 -DAPP_ROUNDS=2
    recording qemu cortex_m4_snapshot -Dtband_configUSE_BACKEND_SNAPSHOT=1 -DAPP_ROUNDS=4 -DAPP_START_ROUND=2
    recording qemu cortex_m4_after_reset $ring -DAPP_ROUNDS=5 -DAPP_RESET
    recording qemu cortex_m4_external -Dtband_configUSE_BACKEND_EXTERNAL=1 -DAPP_ROUNDS=2
    recording qemu cortex_m4_plain -Dtband_configUSE_BACKEND_STREAMING=1 -DAPP_ROUNDS=2 -Dtband_configCOMPAT=1
}

[ $# = 0 ] && set -- host two-cores compile functions logging riscv smp miniprofiler packages kernels ten-minutes firmware kernel qemu random random-two-cores
for part; do
    case $part in
    host) host ;;
    two-cores) two_cores ;;
    compile) compile ;;
    kernels) kernels ;;
    firmware) firmware ;;
    ten-minutes) ten_minutes ;;
    packages) packages ;;
    miniprofiler) miniprofiler ;;
    functions) functions ;;
    logging) logging ;;
    riscv) riscv ;;
    smp) smp ;;
    kernel) kernel posix ;;
    qemu) kernel qemu ;;
    random) random ;;
    random-two-cores) random_two_cores ;;
    captures) captures ;;
    *) fail "no such part: $part" ;;
    esac
done
if [ -s "$failures" ]; then
    echo "$(wc -l <"$failures") failed:"
    cat "$failures"
    exit 1
fi
if [ -s "$build/missing" ]; then
    echo "not tried, because it is not here:"
    sort -u "$build/missing" | sed 's/^/  /'
fi
echo "all passed: $*"
