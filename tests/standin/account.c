/* account.c - see account.h. */
#include "account.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

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

static int alive(uint32_t pid)
{
	return pid && (!kill((pid_t)pid, 0) || errno == EPERM);
}

static int claim(struct account_row *row, uint32_t expected, uint32_t pid)
{
	if (!atomic_compare_exchange_strong(&row->pid, &expected, pid))
		return 0;
	atomic_store(&row->bytes, 0);
	return 1;
}

/* This process's row, claimed at the first use: a free one, else that of a dead process. NULL: 64 are alive. */
static struct account_row *own_row(struct account *account)
{
	uint32_t pid = (uint32_t)getpid(), owner;
	unsigned int i;

	for (i = 0; i < ACCOUNT_ROWS; i++)
		if (atomic_load(&account->row[i].pid) == pid)
			return &account->row[i];
	for (i = 0; i < ACCOUNT_ROWS; i++) {
		owner = atomic_load(&account->row[i].pid);
		if (!alive(owner) && claim(&account->row[i], owner, pid))
			return &account->row[i];
	}
	return NULL;
}

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
	return atomic_load(&account->row[i].bytes) && alive(atomic_load(&account->row[i].pid));
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
