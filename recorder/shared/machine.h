/*
 * machine.h - the differences between x86-64 and aarch64. A build for another processor stops here.
 *
 * MACHINE_RELOC_*   types of relocations: a slot of a call, of a pointer to a function, of an address in data
 * MACHINE_UNWIND    the name of the processor in symbols of libunwind
 * MACHINE_PC        libunwind's number of the register with the place of a frame
 * MACHINE_LIB       the folder of the C library on Debian, which the loader has for $LIB
 * MACHINE_TOOLKIT   the folder of libraries in a CUDA toolkit, below targets
 * MACHINE_PAGE_MOST the largest page that a kernel uses, bytes
 */
#ifndef RECORDER_MACHINE_H
#define RECORDER_MACHINE_H

#if defined(__x86_64__)
#define MACHINE_RELOC_CALL R_X86_64_JUMP_SLOT
#define MACHINE_RELOC_POINTER R_X86_64_GLOB_DAT
#define MACHINE_RELOC_ADDRESS R_X86_64_64
#define MACHINE_UNWIND "x86_64"
#define MACHINE_PC 16 /* UNW_X86_64_RIP */
#define MACHINE_LIB "x86_64-linux-gnu"
#define MACHINE_TOOLKIT "x86_64-linux"
#define MACHINE_PAGE_MOST 4096u
#elif defined(__aarch64__)
#define MACHINE_RELOC_CALL R_AARCH64_JUMP_SLOT
#define MACHINE_RELOC_POINTER R_AARCH64_GLOB_DAT
#define MACHINE_RELOC_ADDRESS R_AARCH64_ABS64
#define MACHINE_UNWIND "aarch64"
#define MACHINE_PC 30 /* UNW_AARCH64_X30, which holds the place of the frame */
#define MACHINE_LIB "aarch64-linux-gnu"
#define MACHINE_TOOLKIT "sbsa-linux"
#define MACHINE_PAGE_MOST 65536u
#else
#error "memrec knows x86-64 and aarch64"
#endif

#endif
