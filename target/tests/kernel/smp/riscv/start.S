/* The first instructions of both harts, and what surrounds a trap. */
    .section .smp_start, "ax"
    .globl smp_start
    /* Nothing relative to gp, which is not set yet. */
    .option push
    .option norelax
smp_start:
    csrr t0, mhartid
    bnez t0, second
    j _start
second:
    la t1, smp_go
    lw t2, 0(t1)
    beqz t2, second
    fence
    la gp, __global_pointer$
    la tp, __tls_base
    la sp, smp_stacks + 8192
    j smp_second
    .option pop

    .text
    .globl smp_enter
    .balign 4
smp_enter:
    addi sp, sp, -144
    sw x1, 4(sp)
    .irp r, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    sw x\r, 4*\r(sp)
    .endr
    csrr t0, mepc
    sw t0, 128(sp)
    csrr t0, mstatus
    sw t0, 132(sp)
    csrr t0, mhartid
    slli t1, t0, 2
    la t2, pxCurrentTCBs
    add t2, t2, t1
    lw t2, 0(t2)
    sw sp, 0(t2)
    slli t1, t0, 12
    la sp, smp_stacks + 4096
    add sp, sp, t1
    csrr a0, mcause
    call smp_trap
    .globl smp_leave
smp_leave:
    csrr t0, mhartid
    slli t1, t0, 2
    la t2, pxCurrentTCBs
    add t2, t2, t1
    lw t2, 0(t2)
    lw sp, 0(t2)
    lw t0, 128(sp)
    csrw mepc, t0
    lw t0, 132(sp)
    csrw mstatus, t0
    lw x1, 4(sp)
    .irp r, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    lw x\r, 4*\r(sp)
    .endr
    addi sp, sp, 144
    mret
