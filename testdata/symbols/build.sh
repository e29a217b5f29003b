#!/bin/sh
# Builds the ELF files of this folder anew. Made with arm-none-eabi-gcc 12.2.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-mcpu=cortex-m4 -mthumb -O2 -g -ffunction-sections -ffile-prefix-map=$PWD=pump -fno-exceptions"
arm-none-eabi-gcc $flags -c pump.c -o "$work/pump.o"
arm-none-eabi-g++ $flags -gdwarf-4 -c valve.cpp -o "$work/valve.o"
arm-none-eabi-gcc -mcpu=cortex-m4 -c assembly.S -o "$work/assembly.o"
arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-u,plain_label -T pump.ld \
    "$work/pump.o" "$work/valve.o" "$work/assembly.o" -o pump.elf
arm-none-eabi-strip --strip-debug pump.elf -o pump_no_debug.elf
arm-none-eabi-strip pump.elf -o pump_stripped.elf
arm-none-eabi-objcopy --compress-debug-sections=zlib pump.elf pump_compressed.elf
# Lambdas, in a program whose data is big-endian, and in one whose debug information lies beside it.
arm-none-eabi-g++ $flags -mbig-endian -c lambda.cpp -o "$work/lambda.o"
arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mbig-endian -Wl,--be8 -nostdlib -nostartfiles -T pump.ld "$work/lambda.o" -o lambda_big_endian.elf
(cd "$work" && arm-none-eabi-g++ $flags -gsplit-dwarf "-ffile-prefix-map=$work=pump" -c "$OLDPWD/lambda.cpp" -o split.o)
arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -nostdlib -nostartfiles -T pump.ld "$work/split.o" -o lambda_split.elf
# What binutils make of it, to compare with.
arm-none-eabi-nm -C pump.elf | grep -i ' [tw] ' | sort | while read -r address kind name; do
    echo "$address,$kind,\"$name\",$(arm-none-eabi-addr2line -e pump.elf "0x$address" | sed 's/ (disc.*//')"
done > pump.symbols.csv
