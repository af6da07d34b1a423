/* place.c - chooses the place of the ring. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/loaded/loaded.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "shared/options.h"
#include "shared/textbuf.h"

#define PROGRAMS_MAX 1000u /* programs of one process, one after the other, by exec */

/*
 * Makes "memrec.<uid>.<pid>" below `parent`, for a process without a launcher. Other users may write to the parent, so
 * the folder must belong to this user alone: otherwise they could remove the ring. 0 or -MT_E_SYSTEM.
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
	if (!text.cut && !mkdir(dir, 0700))
		chmod(dir, 0700); /* independent of the umask */
	if (text.cut || lstat(dir, &stat) || !S_ISDIR(stat.st_mode) || stat.st_uid != getuid() || stat.st_mode & 077)
		return -MT_E_SYSTEM;
	return 0;
}

/* Leaves run_dir/PID.suffix for the launcher. A link has nothing to write: no limit, full disk or signal comes between. */
static int leave_note(const struct memrec_options *options, const char *suffix, const char *what)
{
	char path[MEMREC_PATH_MAX];
	struct textbuf text;

	if (!*options->run_dir)
		return 0;
	textbuf_init(&text, path, sizeof(path));
	textbuf_add(&text, options->run_dir);
	textbuf_add(&text, "/");
	textbuf_add_number(&text, (uint64_t)getpid());
	textbuf_add(&text, suffix);
	if (text.cut)
		return -MT_E_LIMIT;
	unlink(path); /* left by an earlier program of this process */
	return symlink(what, path) ? -MT_E_SYSTEM : 0;
}

static int is_there(const char *path, const char *suffix)
{
	char name[MEMREC_PATH_MAX];
	struct textbuf text;
	struct stat st;

	textbuf_init(&text, name, sizeof(name));
	textbuf_add(&text, path);
	textbuf_add(&text, suffix);
	return !text.cut && !lstat(name, &st);
}

/*
 * Creates "<pid>.ring", or "<pid>.N.ring" if the name belongs to an earlier program of this process or to an earlier
 * process with this number: their notes are beside it.
 */
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
		if (is_there(path, MEMREC_DONE_SUFFIX) || is_there(path, RING_TRACE_SUFFIX)) {
			ring_end_replaced(path, (uint32_t)getpid(), agent_start_ticks());
			continue;
		}
		error = ring_create(ring, path, (uint32_t)options->slot_bytes, options->log_bytes,
				    options->wait_ms * 1000000);
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
	const char *slash = strrchr(options->output, '/');
	int error = -MT_E_SPACE;

	if (*options->run_dir)
		error = create_in(ring, options->run_dir, options);
	if (error && shm_has_room())
		error = create_in_own(ring, RING_SHM_DIR, sizeof(RING_SHM_DIR) - 1, options);
	if (error && slash)
		error = create_in_own(ring, options->output, (size_t)(slash - options->output), options);
	if (error)
		return error;
	if (strncmp(ring->path, options->run_dir, strlen(options->run_dir)) != 0)
		leave_note(options, MEMREC_ELSEWHERE_SUFFIX, ring->path);
	agent_identify(ring->header, options);
	return 0;
}

static int control_in(struct control **page, char *path, const char *dir)
{
	int error = control_name(path, MEMREC_PATH_MAX, dir, (uint64_t)getpid(), agent_start_ticks());

	return error ? error : control_map(page, path, 1);
}

static int control_in_own(struct control **page, char *path, const char *parent, size_t parent_size)
{
	char dir[MEMREC_PATH_MAX];
	int error = own_folder(dir, sizeof(dir), parent, parent_size);

	return error ? error : control_in(page, path, dir);
}

int agent_place_control(struct control **page, char *path, const struct memrec_options *options)
{
	const char *slash = strrchr(options->output, '/');
	int error = -MT_E_SYSTEM;

	if (*options->run_dir)
		error = control_in(page, path, options->run_dir);
	if (error && shm_has_room())
		error = control_in_own(page, path, RING_SHM_DIR, sizeof(RING_SHM_DIR) - 1);
	if (error && slash)
		error = control_in_own(page, path, options->output, (size_t)(slash - options->output));
	return error;
}

/* The folder of a launcher is the launcher's. */
void agent_place_remove(struct ring *ring, const struct memrec_options *options)
{
	size_t size = strlen(options->run_dir);
	char *slash = strrchr(ring->path, '/');

	ring_unlink(ring);
	if (!slash || (size && !strncmp(ring->path, options->run_dir, size) && ring->path + size == slash))
		return;
	*slash = '\0';
	rmdir(ring->path);
	*slash = '/';
}

/* 1: the collector was killed. It holds the lock of its ring while it lives, and removes the ring at its end. */
int agent_place_is_left(const struct ring *ring)
{
	int fd = open(ring->path, O_RDWR | O_CLOEXEC), left;

	if (fd < 0)
		return 0;
	left = !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return left;
}

static const char *why_not(int error)
{
	struct rlimit limit;

	switch (error) {
	case -MT_E_SPACE:
		if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
			return "the limit on the size of files leaves no room for the ring (ulimit -f unlimited)";
		return "there is no space for the ring (choose a place with --ring-dir)";
	case -MT_E_MEMORY:
		return "limits on memory leave the recorder no room (ulimit -v unlimited, ulimit -d unlimited)";
	case -MT_E_MISSING:
		return "the collector did not start (the memrec program must be there for the process, too)";
	default:
		return "the ring could not be made (choose a place that the process may write to with --ring-dir)";
	}
}

/* Leaves a note. A failure is not reported, because the note was the only way to report. */
void agent_place_failed(const struct memrec_options *options, int error)
{
	leave_note(options, MEMREC_FAILED_SUFFIX, why_not(error));
}

void agent_place_attached(const struct memrec_options *options, const char *why)
{
	leave_note(options, why ? MEMREC_FAILED_SUFFIX : MEMREC_ATTACHED_SUFFIX, why ? why : "on");
}

void agent_place_unseen(const struct memrec_options *options, enum mt_source source, const char *why)
{
	int saved = errno; /* hooks call this */

#define LEAVE_IF(unseen, suffix, words) \
	if (source == (unseen))         \
		leave_note(options, suffix, why);
	MEMREC_UNSEEN_LIST(LEAVE_IF)
#undef LEAVE_IF
	errno = saved;
}

static int is_program(const char *path)
{
	struct stat stat_of;

	return !stat(path, &stat_of) && S_ISREG(stat_of.st_mode) && !access(path, X_OK);
}

static void default_output(char *output)
{
	char here[MEMREC_PATH_MAX];
	struct textbuf text;

	if (!getcwd(here, sizeof(here)))
		return;
	textbuf_init(&text, output, MEMREC_PATH_MAX);
	textbuf_add(&text, here);
	textbuf_add(&text, "/trace.zst");
}

/*
 * The collector's path. A build folder has all programs in one place. An installation has
 * PREFIX/lib/memrec/libmemrec.so and PREFIX/bin.
 */
static void default_collector(char *collector)
{
	static const char *const places[] = { "/memrec", "/../../bin/memrec" };
	char own[PATH_MAX], real[PATH_MAX];
	struct textbuf text;
	char *slash;
	size_t i;

	if (!loaded_own_path(own, sizeof(own)) || !realpath(own, real))
		return;
	slash = strrchr(real, '/');
	*slash = '\0';
	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		textbuf_init(&text, collector, MEMREC_PATH_MAX);
		textbuf_add(&text, real);
		textbuf_add(&text, places[i]);
		if (!text.cut && is_program(collector))
			return;
	}
	collector[0] = '\0';
}

void memrec_defaults(struct memrec_options *options)
{
	if (!options->output[0])
		default_output(options->output);
	if (!options->collector[0])
		default_collector(options->collector);
}

/* 1: `path` is the agent's own file, under any name. */
static int is_own_path(const char *path)
{
	struct stat theirs, ours;
	char own[PATH_MAX];

	return loaded_own_path(own, sizeof(own)) && !stat(path, &theirs) && !stat(own, &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

int defaults_name_us(const char *variable)
{
	const char *path = getenv(variable);

	return path && is_own_path(path);
}
