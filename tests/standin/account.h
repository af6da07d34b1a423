/*
 * account.h - counts the bytes of one GPU that each process holds. With STANDIN_STATE=DIR the account is a file that
 * all processes of a test share: NVML in one process sees the memory of another, and two processes fill one GPU.
 * Otherwise the account is this process's own.
 *
 * A process owns one row. The row of a process that has died, or has run another program by exec, is free again, as a
 * real GPU frees their memory.
 */
#ifndef STANDIN_ACCOUNT_H
#define STANDIN_ACCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

#define ACCOUNT_ROWS 64u

struct account {
	struct account_row {
		_Atomic uint32_t pid;            /* 0: free */
		_Atomic uint64_t started, stack; /* start and stack of the program that owns the row */
		_Atomic uint64_t bytes;
	} row[ACCOUNT_ROWS];
};

/* The account of GPU `gpu` in directory `dir`; NULL `dir`: private to this process. Never unmapped. NULL: errno. */
struct account *account_open(const char *dir, unsigned int gpu);

/* Adds `bytes` to this process's row unless the GPU would hold more than `total`. 1: done, 0: full. */
int account_take(struct account *account, uint64_t bytes, uint64_t total);
void account_give(struct account *account, uint64_t bytes);

/* Bytes of all living processes. */
uint64_t account_used(const struct account *account);

/* 1: row `i` belongs to a living process that holds bytes. */
int account_row_alive(const struct account *account, unsigned int i);

#endif
