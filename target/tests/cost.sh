#!/bin/sh
# What the library costs on a Cortex-M4: cost.sh [size] [cycles]; both without arguments. Prints Markdown tables beside the budgets
# and what the original library was measured at, and fails beyond the budgets. Needs arm-none-eabi-gcc; `cycles` also qemu-system-arm; the FreeRTOS rows find the kernel through cargo.
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
    for file in tband tband_backend tband_freertos tband_functions; do
        $cc "$@" -Iinclude -c src/$file.c -o "$build/$file.o" || exit 2
    done
    arm-none-eabi-size -t "$build/tband.o" "$build/tband_backend.o" "$build/tband_freertos.o" "$build/tband_functions.o" |
        awk -v what="$what" 'END { print what == "text" ? $1 + $2 : $2 + $3 }'
}

# row <name> <buffers> <original at -Os, or -> <budget at -Os, or -> <flags>
row() {
    name=$1
    buffers=$2
    original=$3
    budget=$4
    shift 4
    os=$(bytes text -Os "$@")
    o2=$(bytes text -O2 "$@")
    ram=$(($(bytes ram -Os "$@") - buffers))
    echo "| $name | $os | $o2 | $ram | $original | $budget |"
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
    # The metadata buffer has three bytes for sinks that read whole words; the table of objects five bytes for each.
    echo "| configuration | code -Os | code -O2 | RAM beyond buffers | original, -Os | budget -Os |"
    echo "|---|---|---|---|---|---|"
    row "bare metal, streaming" 256 2100 2048 $bare $streaming
    row "… without metadata buffer" 0 - - $bare $streaming -Dtband_configUSE_METADATA_BUF=0
    row "… names not repeated" 256 - - $bare $streaming -Dtband_configMETADATA_REPEAT_EVERY=0
    row "… without markers" 256 - - $bare $streaming -Dtband_configMARKER_TRACE_ENABLE=0
    row "… plain format" 256 - - $bare $streaming -Dtband_configCOMPAT=1
    row "… with log messages" 256 - - $bare $streaming -Dtband_configLOG_ENABLE=1
    row "… with functions" 256 - - $bare $streaming -Dtband_configFUNCTION_TRACE_ENABLE=1
    row "bare metal, snapshot" $((256 + 32768)) - - $bare $other -Dtband_configUSE_BACKEND_SNAPSHOT=1
    row "bare metal, post-mortem" $((2 * 256 + 8192)) - - $bare $other -Dtband_configUSE_BACKEND_POST_MORTEM=1
    row "bare metal, external" 0 - - $bare $other -Dtband_configUSE_BACKEND_EXTERNAL=1
    row "FreeRTOS, streaming, events of the plain format" $((256 + 160)) 6408 5120 $rtos $streaming $old
    row "… plain format" $((256 + 160)) - - $rtos $streaming -Dtband_configCOMPAT=1
    row "… all events" $((256 + 160)) - - $rtos $streaming
    row "… all events, no state dump" 256 - - $rtos $streaming -Dtband_configFREERTOS_MAX_OBJECTS=0
    # The hooks themselves are in the kernel.
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
        echo "FAILED: $1 takes $2, more than $3"
        failed=1
    fi
}

# bench <sink, or none> <flags>
bench() {
    sink=$1
    shift
    case $sink in
    none) flags= source= ;;
    *) flags="-Dtband_portSINK_HEADER=\"tband_sink_$sink.h\"" source=port/sinks/tband_sink_$sink.c ;;
    esac
    $cc "$@" "${flags:--DNO_SINK}" --specs=nano.specs --specs=nosys.specs -nostartfiles -T tband_log.ld -T tests/kernel/qemu/mps2.ld \
        -ffunction-sections -Wl,--gc-sections -Iinclude -Itests/cost -Iport/sinks tests/cost/bench.c tests/kernel/qemu/startup.c \
        src/tband.c src/tband_backend.c $source -o "$build/bench" 2>/dev/null || exit 2
    qemu-system-arm -M mps2-an386 -icount shift=5 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$build/bench" 2>&1
}

# of <log> <event> <column>
of() { awk -v e="$2" -v c="$3" '$1 == e { print $c }' "$build/$1"; }

cycles() {
    for optimise in O2 Os; do
        for sink in none ring rtt; do
            bench $sink -$optimise -Dtband_configLOG_ENABLE=1 >"$build/$optimise.$sink"
            bench $sink -$optimise -Dtband_configLOG_ENABLE=1 -DMEASURE_MASKED >"$build/$optimise.$sink.masked"
        done
    done
    bench ring -O2 -Dtband_configCOMPAT=1 >"$build/plain"
    echo "| event | ring, -O2 | RTT, -O2 | sink not inlined, -O2 | ring, -Os | plain format, ring, -O2 | bytes | original, -O2 / -Os | budget, ring, -O2 |"
    echo "|---|---|---|---|---|---|---|---|---|"
    while read -r event name original budget; do
        name=$(echo "$name" | sed 's/_"/ "/; s/~/ /g')
        echo "| $name | $(of O2.ring $event 2) | $(of O2.rtt $event 2) | $(of O2.none $event 2) | $(of Os.ring $event 2) | $(of plain $event 2) | $(of O2.ring $event 13) | $original | $budget |"
        [ "$budget" = - ] || limit "$name with the ring -O2" "$(of O2.ring $event 2)" "$budget"
    done <<EOF
isr_enter isr_enter 172/247 130
evtmarker evtmarker_"hello" 259/363 200
evtmarker_end evtmarker_end - 130
valmarker valmarker - 165
log_0 tband_log~without~arguments - -
log_2 tband_log~with~two~numbers - -
log_wide tband_log~with~a~number~and~"hello" - -
EOF
    arguments=$(($(of O2.ring log_2 2) - $(of O2.ring isr_enter 2)))
    echo
    echo "Two arguments of a message, more than isr_enter, ring, -O2: $arguments instructions (budget 60)."
    limit "a message with two arguments, more than isr_enter," "$arguments" 60
    limit "isr_enter with a sink of its own -O2" "$(of O2.none isr_enter 2)" 100
    echo
    echo "| | ring, -O2 | RTT, -O2 | ring, -Os | RTT, -Os | original, -Os | budget |"
    echo "|---|---|---|---|---|---|---|"
    echo "| interrupts held off, on average | $(masked 4 mean O2.ring O2.rtt Os.ring Os.rtt) - | - |"
    echo "| interrupts held off, at most | $(masked 6 most O2.ring O2.rtt Os.ring Os.rtt) - | 200 |"
    echo "| bytes of stack, without a text | $(stack isr_enter O2.ring O2.rtt Os.ring Os.rtt) 188 | 160 (-Os) |"
    echo "| bytes of stack, with a text of 20 | $(stack evtmarker O2.ring O2.rtt Os.ring Os.rtt) - | 160 (-Os) |"
    echo "| bytes of stack, tband_log with a text | $(stack log_wide O2.ring O2.rtt Os.ring Os.rtt) - | - |"
    for log in O2.ring O2.rtt Os.ring Os.rtt; do
        limit "the longest critical section, $log," "$(awk '$6 > most { most = $6 } END { print most }' "$build/$log.masked")" 200
    done
    for log in Os.ring Os.rtt; do
        limit "the stack of isr_enter, $log," "$(of $log isr_enter 9)" 160
        limit "the stack of evtmarker, $log," "$(of $log evtmarker 9)" 160
    done
}

# masked <column> <mean|most> <log>...
masked() {
    column=$1
    how=$2
    shift 2
    for log; do
        printf '%s | ' "$(awk -v c="$column" -v how="$how" '{ n++; sum += $c; most = $c > most ? $c : most }
            END { print how == "most" ? most : int(sum / n + 0.5) }' "$build/$log.masked")"
    done
}

# stack <event> <log>...
stack() {
    event=$1
    shift
    for log; do
        printf '%s | ' "$(of "$log" "$event" 9)"
    done
}

[ $# = 0 ] && set -- size cycles
for part; do
    $part
    echo
done
exit $failed
