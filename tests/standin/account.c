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

/* ---- who owns a row ---- */

/* A process number comes again, and a program that replaces another keeps it: these two tell. */
struct identity {
	uint64_t started; /* clock ticks */
	uint64_t stack;   /* its beginning; 0: hidden from us */
};

/* Reads /proc: 1; 0: no such process lives. One that nobody has waited for has no memory any more. */
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

/* A child that was forked asks anew. */
static const struct identity *own_identity(uint32_t pid)
{
	static struct identity own;
	static _Atomic uint32_t of;

	if (atomic_load(&of) != pid && identify(pid, &own))
		atomic_store(&of, pid);
	return &own;
}

/* A row that a test has made by hand has a process number alone. */
static int is_same(const struct account_row *row, const struct identity *identity)
{
	return (!atomic_load(&row->started) || atomic_load(&row->started) == identity->started) &&
	       (!identity->stack || !atomic_load(&row->stack) || atomic_load(&row->stack) == identity->stack);
}

/* Its owner is alive, or about to take it. */
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

/* This process's row, claimed at the first use: a free one, else that of a dead process. NULL: 64 are alive. */
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
