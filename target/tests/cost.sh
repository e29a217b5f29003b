#!/bin/sh
# What the library costs on a Cortex-M4: cost.sh [size] [cycles]; both without arguments. Prints Markdown tables beside the budgets
# and fails beyond them. Needs arm-none-eabi-gcc; `cycles` also qemu-system-arm; the FreeRTOS rows find the kernel through cargo.
set -u
here=$(cd "$(dirname "$0")" && pwd)
target=$(dirname "$here")
build=${BUILD:-$(dirname "$target")/build/target-tests}
mkdir -p "$build"
cd "$target" || exit 2
failed=0
cc="arm-none-eabi-gcc -std=gnu11 -w -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
kernel=$(cargo metadata --quiet --format-version 1 --manifest-path tests/kernel/Cargo.toml |
    sed 's/.*"manifest_path":"\([^"]*freertos-next-[^"]*\)\/Cargo.toml".*/\1/')/FreeRTOS-Kernel

# bytes <text|ram> <flags>: of all objects of the library.
bytes() {
    what=$1
    shift
    for file in tband tband_backend tband_freertos; do
        $cc "$@" -Iinclude -c src/$file.c -o "$build/$file.o" || exit 2
    done
    arm-none-eabi-size -t "$build/tband.o" "$build/tband_backend.o" "$build/tband_freertos.o" |
        awk -v what="$what" 'END { print what == "text" ? $1 + $2 : $2 + $3 }'
}

# row <name> <buffers> <budget at -Os, or -> <flags>
row() {
    name=$1
    buffers=$2
    budget=$3
    shift 3
    os=$(bytes text -Os "$@")
    o2=$(bytes text -O2 "$@")
    ram=$(($(bytes ram -Os "$@") - buffers))
    echo "| $name | $os | $o2 | $ram | $budget |"
    if [ "$budget" != - ] && [ "$os" -gt "$budget" ]; then
        echo "FAILED: $name takes $os bytes, more than $budget"
        failed=1
    fi
    if [ "$ram" -gt 128 ]; then
        echo "FAILED: $name takes $ram bytes of RAM beyond its buffers, more than 128"
        failed=1
    fi
}

size() {
    bare="-Itests/cost"
    rtos="-Itests/kernel -Itests/kernel/qemu -I$kernel/include -I$kernel/portable/GCC/ARM_CM4F -Dtband_configMETADATA_BUF_SIZE=256"
    streaming="-Dtband_configUSE_BACKEND_STREAMING=1"
    other="-Dtband_configUSE_BACKEND_STREAMING=0"
    old="-Dtband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE=0 -Dtband_configFREERTOS_NOTIFY_TRACE_ENABLE=0 \
-Dtband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE=0 -Dtband_configFREERTOS_TIMER_TRACE_ENABLE=0 \
-Dtband_configFREERTOS_HEAP_TRACE_ENABLE=0"
    echo "| configuration | code -Os | code -O2 | RAM beyond buffers | budget -Os |"
    echo "|---|---|---|---|---|"
    row "bare metal, streaming" 256 1536 $bare $streaming
    row "… without metadata buffer" 0 - $bare $streaming -Dtband_configUSE_METADATA_BUF=0
    row "… without markers" 256 - $bare $streaming -Dtband_configMARKER_TRACE_ENABLE=0
    row "… plain format" 256 - $bare $streaming -Dtband_configCOMPAT=1
    row "bare metal, snapshot" $((256 + 32768)) - $bare $other -Dtband_configUSE_BACKEND_SNAPSHOT=1
    row "bare metal, post-mortem" $((2 * 256 + 8192)) - $bare $other -Dtband_configUSE_BACKEND_POST_MORTEM=1
    row "bare metal, external" 0 - $bare $other -Dtband_configUSE_BACKEND_EXTERNAL=1
    row "FreeRTOS, streaming, events of the plain format" $((256 + 160)) 5120 $rtos $streaming $old
    row "… plain format" 256 - $rtos $streaming -Dtband_configCOMPAT=1
    row "… all events" $((256 + 160)) - $rtos $streaming
    row "… all events, no state dump" 256 - $rtos $streaming -Dtband_configFREERTOS_MAX_OBJECTS=0
    # The hooks themselves stand in the kernel.
    for optimise in -Os -O2; do
        without=0
        with=0
        for file in tasks queue list timers event_groups stream_buffer portable/MemMang/heap_4; do
            object="$build/$(basename $file).o"
            $cc $optimise $rtos $streaming -Dtband_configENABLE_OFF -DTBAND_H_ -Iinclude -c "$kernel/$file.c" -o "$object"
            without=$((without + $(arm-none-eabi-size "$object" | awk 'END { print $1 }')))
            $cc $optimise $rtos $streaming -Iinclude -c "$kernel/$file.c" -o "$object"
            with=$((with + $(arm-none-eabi-size "$object" | awk 'END { print $1 }')))
        done
        echo
        echo "Calls of the hooks in the kernel, all events, $optimise: $((with - without)) bytes."
    done
}

# limit <what> <is> <most>
limit() {
    if [ "$2" -gt "$3" ]; then
        echo "FAILED: $1 takes $2 instructions, more than $3"
        failed=1
    fi
}

bench() {
    $cc "$@" --specs=nano.specs --specs=nosys.specs -nostartfiles -T tests/kernel/qemu/mps2.ld \
        -ffunction-sections -Wl,--gc-sections -Iinclude -Itests/cost tests/cost/bench.c tests/kernel/qemu/startup.c src/tband.c \
        src/tband_backend.c -o "$build/bench" 2>/dev/null || exit 2
    qemu-system-arm -M mps2-an386 -icount shift=0 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$build/bench" 2>&1
}

cycles() {
    echo "| event | -O2 | masked, -O2 | -Os | masked, -Os | plain format, -O2 | bytes | budget -O2 |"
    echo "|---|---|---|---|---|---|---|---|"
    bench -O2 >"$build/o2"
    bench -Os >"$build/os"
    bench -O2 -DMEASURE_MASKED >"$build/o2m"
    bench -Os -DMEASURE_MASKED >"$build/osm"
    bench -O2 -Dtband_configCOMPAT=1 >"$build/plain"
    while read -r event name budget; do
        o2=$(awk -v e="$event" '$1 == e { print $2 }' "$build/o2")
        os=$(awk -v e="$event" '$1 == e { print $2 }' "$build/os")
        o2m=$(awk -v e="$event" '$1 == e { print $4 }' "$build/o2m")
        osm=$(awk -v e="$event" '$1 == e { print $4 }' "$build/osm")
        plain=$(awk -v e="$event" '$1 == e { print $2 }' "$build/plain")
        length=$(awk -v e="$event" '$1 == e { print $6 }' "$build/o2")
        name=$(echo "$name" | sed 's/_"/ "/')
        echo "| $name | $o2 | $o2m | $os | $osm | $plain | $length | $budget |"
        limit "$name -O2" "$o2" "$budget"
        limit "$name masked" "$o2m" 100
        [ "$event" = isr_enter ] && limit "$name -Os" "$os" 220
    done <<EOF
isr_enter isr_enter 150
evtmarker evtmarker_"hello" 230
evtmarker_end evtmarker_end 180
valmarker valmarker 180
EOF
}

[ $# = 0 ] && set -- size cycles
for part; do
    $part
    echo
done
exit $failed
