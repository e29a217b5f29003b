# Random applications on emulated processors: a part of run.sh, which reads this file.

# random_run <arm|smp> <name> <option>...: an application that does what it likes, on $kernel.
random_run() {
    platform=$1
    name=$2
    folder=$build/random/$name
    shift 2
    mkdir -p "$folder"
    options="-std=gnu11 -g -O2 -w -DRANDOM_SEED=${RANDOM_SEED:-1} -DINCLUDE_xTaskAbortDelay=1 -Dtband_configUSE_BACKEND_STREAMING=1 \
-Dtband_configFREERTOS_MAX_OBJECTS=64 -Iinclude $*"
    sources="tests/kernel/random/app.c src/tband.c src/tband_backend.c src/tband_freertos.c $kernel/tasks.c $kernel/queue.c $kernel/list.c \
$kernel/timers.c $kernel/event_groups.c $kernel/stream_buffer.c $kernel/portable/MemMang/heap_4.c"
    [ ! -f "$kernel/croutine.c" ] || sources="$sources $kernel/croutine.c"
    if [ "$platform" = arm ]; then
        port="$kernel/portable/GCC/ARM_CM4F"
        linked arm-none-eabi-gcc $options -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 --specs=nano.specs --specs=nosys.specs \
            -nostartfiles -T tests/kernel/qemu/mps2.ld -ffunction-sections -Wl,--gc-sections -Itests/kernel -Itests/kernel/qemu \
            "-I$kernel/include" "-I$port" $sources tests/kernel/qemu/platform.c tests/kernel/qemu/startup.c "$port/port.c" -o "$folder/app" &&
            (cd "$folder" && run qemu-system-arm -M mps2-an386 -icount shift=4 -nographic -monitor none -serial none \
                -semihosting-config enable=on,target=native -kernel app) || fail "random, $name"
    else
        port=tests/kernel/smp/riscv
        isa="-misa-spec=2.2 -march=rv32imac -mabi=ilp32"
        riscv64-unknown-elf-gcc $isa -c $port/start.S -o "$folder/start.o" &&
            riscv64-unknown-elf-gcc $isa $options --specs=picolibc.specs --oslib=semihost --crt0=semihost -Wl,--no-warn-rwx-segments \
                -Wl,-u,smp_start -Wl,--section-start=.smp_start=0x80000000 -Wl,--defsym=__flash=0x80001000,--defsym=__flash_size=0x400000 \
                -Wl,--defsym=__ram=0x80500000,--defsym=__ram_size=0x800000 -I$port -Itests/kernel/smp -Itests/kernel "-I$kernel/include" \
                "$folder/start.o" $port/port.c $sources -o "$folder/app" &&
            (cd "$folder" && run qemu-system-riscv32 -M virt -smp 2 -bios none -nographic -monitor none -serial none \
                -semihosting-config enable=on,target=native -kernel app) || fail "random, $name"
    fi
}

# mpu_run <m4|m33> <version of the wrappers> <option>...: the same with an MPU. Half of the tasks are unprivileged: their markers and messages are
# supervisor calls, and whoever calls the tracer itself faults.
mpu_run() {
    core=$1
    name=mpu-$1-v$2
    options="-std=gnu11 -g -O2 -w -mthumb -mfloat-abi=hard --specs=nano.specs --specs=nosys.specs -ffunction-sections -DTEST_MPU \
-DconfigENABLE_MPU=1 -DconfigENABLE_FPU=1 -DconfigENABLE_TRUSTZONE=0 -DconfigRUN_FREERTOS_SECURE_ONLY=1 -DconfigUSE_MPU_WRAPPERS_V1=$((2 - $2)) \
-DINCLUDE_xTaskAbortDelay=1 -DRANDOM_SEED=${RANDOM_SEED:-1} -DRANDOM_LINES=2500 -DRANDOM_BYTES=850000 -Dtband_configLOG_ENABLE=1 \
-Dtband_configUSE_BACKEND_STREAMING=1 -Dtband_configFREERTOS_MAX_OBJECTS=64 -Iinclude -Iport/cortex_m_mpu -Itests/kernel -Itests/kernel/qemu"
    shift 2
    case $core in
    m4)
        port=$kernel/portable/GCC/ARM_CM4_MPU
        options="$options -mcpu=cortex-m4 -mfpu=fpv4-sp-d16"
        machine=mps2-an386
        ;;
    *)
        port=$kernel/portable/GCC/ARM_CM33_NTZ/non_secure
        options="$options -mcpu=cortex-m33 -mfpu=fpv5-sp-d16"
        machine=mps2-an505
        ;;
    esac
    options="$options -I$kernel/include -I$port $*"
    case "$*" in *DIRECT*) name=$name-direct folder=$build/$name ;; *) folder=$build/random/$name ;; esac
    rm -rf "$folder"
    mkdir -p "$folder"
    # The linker script knows the library by the names of its objects.
    for file in src/*.c port/cortex_m_mpu/*.c tests/kernel/random/app.c tests/kernel/mpu/restricted.c tests/kernel/qemu/platform.c \
        tests/kernel/qemu/startup.c "$kernel"/tasks.c "$kernel"/queue.c "$kernel"/list.c "$kernel"/timers.c "$kernel"/event_groups.c \
        "$kernel"/stream_buffer.c "$kernel"/portable/MemMang/heap_4.c "$kernel"/portable/Common/mpu_wrappers*.c "$port"/*.c; do
        arm-none-eabi-gcc $options -c "$file" -o "$folder/$(basename "$(dirname "$file")")_$(basename "$file" .c).o" || fail "$name: $file"
    done
    linked arm-none-eabi-gcc $options -nostartfiles -Ltests/kernel/mpu -T cortex_$core.ld -Wl,--gc-sections "$folder"/*.o -o "$folder/app" &&
        (cd "$folder" && run qemu-system-arm -M $machine -icount shift=4 -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel app >log 2>&1)
    ran=$?
    case $name in
    *direct) [ "$(cat "$folder/log")" = fault ] || fail "$name: the tracer's memory is not protected: $(cat "$folder/log")" ;;
    *) cat "$folder/log"; [ $ran = 0 ] || fail "$name" ;;
    esac
    rm -f "$folder"/*.o
}

# Random applications in configurations that no other part runs, and on old kernels. xtask holds what the kernels said of everything against
# the recordings.
random() {
    rm -rf "$build/random"
    kernel=$(kernel_source)/FreeRTOS-Kernel
    beside random_run arm usual
    beside random_run arm tickless -DconfigUSE_TICKLESS_IDLE=1
    beside random_run arm co-routines -DconfigUSE_CO_ROUTINES=1 -DconfigMAX_CO_ROUTINE_PRIORITIES=2 -DconfigUSE_IDLE_HOOK=1
    beside random_run arm mutexes -DRANDOM_ACTIONS=0x2830
    beside random_run arm resets -DRANDOM_ACTIONS=0x1802 "-DTEST_ASSERTED=app_asserted(__func__)"
    beside random_run arm masked -DTEST_MASKED=250u
    for core in m4 m33; do
        for wrappers in 1 2; do
            beside mpu_run $core $wrappers
        done
        beside mpu_run $core 2 -DTEST_DIRECT
    done
    for kernel in ${FREERTOS_KERNELS:+$(kernels_there)}; do
        case $kernel in *V10.2* | *V10.6* | *V11.3*) beside random_run arm "$(basename "$kernel")" ;; esac
        # These forget that no task of an inherited priority is ready any more, and the port's way of choosing a task asserts that.
        case $kernel in *V10.2* | *V10.3*)
            beside random_run arm "$(basename "$kernel")-mutexes" -DRANDOM_ACTIONS=0x2830 -DconfigUSE_PORT_OPTIMISED_TASK_SELECTION=0
            ;;
        esac
    done
    finish
}

# The same on two cores, where each run is another one: how often something comes between a hook and what it records is chance.
random_two_cores() {
    kernel=$(kernel_source)/FreeRTOS-Kernel
    beside random_run smp two-cores
    beside random_run smp two-cores-preemption -DconfigUSE_TASK_PREEMPTION_DISABLE=1
    beside random_run smp two-cores-one-priority -DconfigRUN_MULTIPLE_PRIORITIES=0
    finish
}
