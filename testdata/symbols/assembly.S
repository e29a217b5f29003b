/* Assembly code as it often is: no sizes, and a label without a type. */
    .syntax unified
    .cpu cortex-m4
    .thumb
    .section .text.assembly, "ax"
    .global plain_label
    .thumb_func
plain_label:
    movs r0, #1
    bx lr
    .global second_label
second_label:
    movs r0, #2
    bx lr
