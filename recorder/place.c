/* place.c - where the ring lies. */
#include "agent.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "textbuf.h"

#define PROGRAMS_MAX 1000u /* one after the other in one process, by exec */

/*
 * "memrec.<uid>.<pid>" below `parent`, for processes that no launcher started. The parent may be everybody's: a folder
 * that is not ours alone could have the ring pulled away from under us. 0 or -MT_E_SYSTEM.
 */
static int own_folder(char *dir, size_t size, const char *parent, size_t parent_size)
{
	struct textbuf text;
	struct stat stat;

	textbuf_init(&text, dir, size);
	textbuf_add_bytes(&text, parent, parent_size);
	textbuf_add(&text, "/memrec.");
	textbuf_add_number(&text, getuid());
	textbuf_add(&text, ".");
	textbuf_add_number(&text, (uint64_t)getpid());
	mkdir(dir, 0700);
	if (text.cut || lstat(dir, &stat) || !S_ISDIR(stat.st_mode) || stat.st_uid != getuid() || stat.st_mode & 077)
		return -MT_E_SYSTEM;
	return 0;
}

/* Creates "<pid>.ring", or "<pid>.N.ring" where an earlier program of this process left one. */
static int create_in(struct ring *ring, const char *dir, const struct memrec_options *options)
{
	char path[MEMREC_PATH_MAX];
	struct textbuf text;
	unsigned int i;
	int error = -MT_E_BUSY;

	for (i = 0; i < PROGRAMS_MAX && error == -MT_E_BUSY; i++) {
		textbuf_init(&text, path, sizeof(path));
		textbuf_add(&text, dir);
		textbuf_add(&text, "/");
		textbuf_add_number(&text, (uint64_t)getpid());
		if (i) {
			textbuf_add(&text, ".");
			textbuf_add_number(&text, i);
		}
		textbuf_add(&text, ".ring");
		if (text.cut)
			return -MT_E_SYSTEM;
		error = ring_create(ring, path, (uint32_t)options->slot_bytes, options->wait_ms * 1000000);
		if (error == -MT_E_BUSY)
			ring_end_replaced(path, (uint32_t)getpid(), agent_start_ticks());
	}
	return error;
}

static int create_in_own(struct ring *ring, const char *parent, size_t parent_size,
			 const struct memrec_options *options)
{
	char dir[MEMREC_PATH_MAX];
	int error = own_folder(dir, sizeof(dir), parent, parent_size);

	if (error)
		return error;
	error = create_in(ring, dir, options);
	if (error)
		rmdir(dir);
	return error;
}

int agent_place_ring(struct ring *ring, const struct memrec_options *options)
{
	static const char shared_memory[] = "/dev/shm";
	const char *slash = strrchr(options->output, '/');
	int error;

	if (*options->run_dir)
		error = create_in(ring, options->run_dir, options);
	else
		error = create_in_own(ring, shared_memory, sizeof(shared_memory) - 1, options);
	if (error && slash)
		error = create_in_own(ring, options->output, (size_t)(slash - options->output), options);
	if (!error)
		agent_identify(ring->header, options);
	return error;
}
