/* account.c - see account.h. */
#include "account.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLAIMED 0x80000000u /* bit in a row's pid: the row is being taken */

struct account *account_open(const char *dir, unsigned int gpu)
{
	char path[4096];
	void *memory;
	int fd;

	if (!dir) {
		memory = mmap(NULL, sizeof(struct account), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return memory == MAP_FAILED ? NULL : memory;
	}
	if (snprintf(path, sizeof(path), "%s/gpu%u", dir, gpu) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(struct account)) < 0) {
		close(fd);
		return NULL;
	}
	memory = mmap(NULL, sizeof(struct account), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* ---- the owner of a row ---- */

/* Identifies a program in a process. Process numbers are used again, and exec keeps the number. */
struct identity {
	uint64_t started; /* clock ticks */
	uint64_t stack;   /* begin of its stack; 0: not visible */
};

/* Reads /proc. 1; 0: no such process lives. A zombie has no memory any more. */
static int identify(uint32_t pid, struct identity *identity)
{
	char path[32], text[1024], state;
	unsigned long long started, stack;
	const char *rest;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest,
			    ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu "
			    "%*u %*d %*u %*u %*u %llu",
			    &state, &started, &stack) != 3)
		return 0;
	*identity = (struct identity){ started, stack };
	return state != 'Z' && state != 'X';
}

/* A forked child reads its own identity again. */
static const struct identity *own_identity(uint32_t pid)
{
	static struct identity own;
	static _Atomic uint32_t of;

	if (atomic_load(&of) != pid && identify(pid, &own))
		atomic_store(&of, pid);
	return &own;
}

/* 1: the row belongs to this program. A row that a test made by hand has only a process number. */
static int is_same(const struct account_row *row, const struct identity *identity)
{
	return (!atomic_load(&row->started) || atomic_load(&row->started) == identity->started) &&
	       (!identity->stack || !atomic_load(&row->stack) || atomic_load(&row->stack) == identity->stack);
}

/* 1: the row's owner is alive, or a process is claiming the row. */
static int alive(const struct account_row *row)
{
	uint32_t pid = atomic_load(&row->pid);
	struct identity identity;

	if (!pid)
		return 0;
	if (pid == (uint32_t)getpid())
		return is_same(row, own_identity(pid));
	if (!identify(pid & ~CLAIMED, &identity))
		return 0;
	return pid & CLAIMED || is_same(row, &identity);
}

static int claim(struct account_row *row, uint32_t expected, uint32_t pid)
{
	const struct identity *own = own_identity(pid);

	if (!atomic_compare_exchange_strong(&row->pid, &expected, pid | CLAIMED))
		return 0;
	atomic_store(&row->bytes, 0);
	atomic_store(&row->started, own->started);
	atomic_store(&row->stack, own->stack);
	atomic_store(&row->pid, pid);
	return 1;
}

/*
 * This process's row. At the first use it claims a free row, else that of a dead process. NULL: 64 processes are alive.
 */
static struct account_row *own_row(struct account *account)
{
	uint32_t pid = (uint32_t)getpid(), owner;
	unsigned int i;

	for (i = 0; i < ACCOUNT_ROWS; i++)
		if (atomic_load(&account->row[i].pid) == pid && alive(&account->row[i]))
			return &account->row[i];
	for (i = 0; i < ACCOUNT_ROWS; i++) {
		owner = atomic_load(&account->row[i].pid);
		if (!alive(&account->row[i]) && claim(&account->row[i], owner, pid))
			return &account->row[i];
	}
	return NULL;
}

/* ---- bytes ---- */

int account_take(struct account *account, uint64_t bytes, uint64_t total)
{
	struct account_row *row = own_row(account);

	if (!row || bytes > total)
		return 0;
	/* Added first and looked at afterwards: two processes at the brim may both be refused, never both served. */
	atomic_fetch_add(&row->bytes, bytes);
	if (account_used(account) <= total)
		return 1;
	atomic_fetch_sub(&row->bytes, bytes);
	return 0;
}

void account_give(struct account *account, uint64_t bytes)
{
	struct account_row *row = own_row(account);

	if (row)
		atomic_fetch_sub(&row->bytes, bytes);
}

int account_row_alive(const struct account *account, unsigned int i)
{
	return atomic_load(&account->row[i].bytes) && alive(&account->row[i]);
}

uint64_t account_used(const struct account *account)
{
	uint64_t used = 0;
	unsigned int i;

	for (i = 0; i < ACCOUNT_ROWS; i++)
		if (account_row_alive(account, i))
			used += atomic_load(&account->row[i].bytes);
	return used;
}
