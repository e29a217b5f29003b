#!/bin/sh
# Tests of the tracer library: run.sh [host] [two-cores] [compile] [kernel] [qemu]; all without arguments.
# Needs gcc and clang; `kernel` and `qemu` find the FreeRTOS kernel through cargo; `qemu` needs arm-none-eabi-gcc and
# qemu-system-arm. BUILD names the folder for what is built.
set -u
here=$(cd "$(dirname "$0")" && pwd)
target=$(dirname "$here")
build=${BUILD:-$(dirname "$target")/build/target-tests}
mkdir -p "$build"
cd "$target" || exit 2
warnings="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
small="-Dtband_configMAX_STR_LEN=1 -Dtband_configTRACE_DROP_CNT_EVERY=0 -Dtband_configMETADATA_BUF_SIZE=7 \
-Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=61 -Dtband_configSYNC_EVERY=1 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=1000 \
-Dtband_configBACKEND_POST_MORTEM_SEGMENTS=2"
jobs=$(nproc 2>/dev/null || echo 1)
running=0
# One line for each failure.
failures=$build/failures
: >"$failures"

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

# What has not ended by then hangs.
run() {
    timeout 300 "$@"
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
                for variant in usual long small unnamed clock32; do
                    case $variant in
                    usual) options="" ;;
                    long) options="-Dtband_configMAX_STR_LEN=300 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=20000 \
-Dtband_configBACKEND_POST_MORTEM_SEGMENTS=7" ;;
                    small) options=$small ;;
                    unnamed) options="-Dtband_configUSE_METADATA_BUF=0 -Dtband_configBACKEND_SNAPSHOT_BUF_SIZE=997" ;;
                    clock32) options="-Dtband_portTIMESTAMP_BITS=32 -DTEST_HZ=168000000" ;;
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
                -Dtband_configMAX_STR_LEN=300 -Dtband_portTIMESTAMP_BITS=32; do
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
    for options in "" -Dtband_configENABLE=0 -Dtband_configMARKER_TRACE_ENABLE=0 -Dtband_configISR_TRACE_ENABLE=0; do
        for compiler in g++ clang++; do
            $compiler -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror $on $options -Iinclude -Itests/host \
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
        for sink in port/sinks/*.c; do
            $compiler $warnings -Itests/rtt -c "$sink" -o "$build/compiled.o" || fail "$sink, $compiler"
        done
    done
    for backend in STREAMING SNAPSHOT POST_MORTEM; do
        for file in tband tband_backend; do
            on_arm="$warnings -mthumb -Os -Dtband_configUSE_BACKEND_$backend=1 -Iinclude -Itests/host"
                arm-none-eabi-gcc $on_arm -mcpu=cortex-m4 -Iport/cortex_m_bare_metal -iquote port/cortex_m_bare_metal \
                -c src/$file.c -o "$build/compiled.o" || fail "bare-metal port"
            arm-none-eabi-gcc $on_arm -mcpu=cortex-m0plus -iquote port/rp2040 -c src/$file.c -o "$build/compiled.o" ||
                fail "rp2040 port"
        done
    done
    for file in src/*.c; do
        arm-none-eabi-gcc $warnings -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os $on -Iinclude \
            -iquote port/cortex_m_freertos -Itests/kernel -Iport/cortex_m_freertos -isystem "$kernel/include" \
            -isystem "$kernel/portable/GCC/ARM_CM4F" -c "$file" -o "$build/compiled.o" || fail "FreeRTOS port $file"
    done
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
    refuses "tband_portNUMBER_OF_CORES must be" $on -DTEST_CORES=17
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
            -lpthread -o "$folder/app" && (cd "$folder" && timeout 60 ./app)
    else
        port="$kernel/portable/GCC/ARM_CM4F"
        arm-none-eabi-gcc $options -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 --specs=nano.specs \
            --specs=nosys.specs -nostartfiles -T tests/kernel/qemu/mps2.ld -ffunction-sections -Wl,--gc-sections -I"$port" \
            $sources tests/kernel/qemu/startup.c "$port/port.c" -o "$folder/app" 2>/dev/null &&
            (cd "$folder" && timeout 120 qemu-system-arm -M mps2-an386 -icount shift=0 -nographic -monitor none -serial none \
                -semihosting-config enable=on,target=native -kernel app 2>&1)
    fi || fail "$platform $name"
    # Every event occurs, where time is simulated: on a host under load one task or another does not have to wait.
    all=""
    [ "$platform $name" = "qemu STREAMING round=4 compat=0" ] && all=all
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
        for compat in 0 1; do
            beside build_and_run qemu "POST_MORTEM reset compat=$compat" "$build/qemu-reset-$compat" -DAPP_RESET \
                -Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configCOMPAT=$compat
        done
    fi
    finish
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

# Records anew what of testdata comes from a kernel; not part of the tests. `cargo xtask bless` then writes the views.
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

[ $# = 0 ] && set -- host two-cores compile kernel qemu
for part; do
    case $part in
    host) host ;;
    two-cores) two_cores ;;
    compile) compile ;;
    kernel) kernel posix ;;
    qemu) kernel qemu ;;
    captures) captures ;;
    *) fail "no such part: $part" ;;
    esac
done
if [ -s "$failures" ]; then
    echo "$(wc -l <"$failures") failed:"
    cat "$failures"
    exit 1
fi
echo "all passed: $*"
