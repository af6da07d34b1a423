/* output.c - chooses the name of a trace, and makes its file: see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "run/rundir.h"

#define ATTEMPTS 1000u
#define SUFFIX_MOST 32u /* bytes of a suffix: ".zst" */
#define NAME_ROOM 8u    /* bytes for ".old" and ".keep" */

int output_check(const char *pattern)
{
	for (; (pattern = strchr(pattern, '%')); pattern += 2)
		if (!pattern[1] || !strchr("prh%", pattern[1]))
			return -MT_E_ARGUMENT;
	return 0;
}

static int has_letter(const char *pattern, char letter)
{
	for (; (pattern = strchr(pattern, '%')) && pattern[1]; pattern += 2)
		if (pattern[1] == letter)
			return 1;
	return 0;
}

void output_dir(char *dir, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(dir, MEMREC_PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		snprintf(dir, MEMREC_PATH_MAX, ".");
}

/* Replaces characters of the host's name that could lead out of the folder of the trace. */
static void add_host(char *text, const char *host)
{
	size_t i;

	snprintf(text, 80, "%.64s", host);
	for (i = 0; text[i]; i++)
		if (text[i] == '/' || (text[i] == '.' && !i))
			text[i] = '_';
}

/* Writes the text for %LETTER to `text` (80 bytes). */
static void expand_letter(char *text, char letter, const struct output_owner *owner)
{
	if (letter == 'p')
		snprintf(text, 80, "%u", owner->pid);
	else if (letter == 'r' && owner->rank >= 0)
		snprintf(text, 80, "%d", owner->rank);
	else if (letter == 'r')
		snprintf(text, 80, "none");
	else if (letter == 'h')
		add_host(text, owner->host);
	else
		snprintf(text, 80, "%%");
}

static int expand(char *path, const char *pattern, const struct output_owner *owner)
{
	size_t used = 0;

	for (; *pattern; pattern++) {
		char text[80] = { *pattern, '\0' };
		size_t size;

		if (*pattern == '%' && pattern[1])
			expand_letter(text, *++pattern, owner);
		size = strlen(text);
		if (used + size >= MEMREC_PATH_MAX)
			return -MT_E_LIMIT;
		memcpy(path + used, text, size);
		used += size;
	}
	path[used] = '\0';
	return 0;
}

/* The number of bytes of `text`, at most `most`, that does not cut a character of UTF-8. */
static size_t whole_bytes(const char *text, size_t most)
{
	size_t size = strnlen(text, most + 1);

	if (size <= most)
		return size;
	for (size = most; size && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
		;
	return size;
}

/*
 * Puts `word` before the last suffix: "/a/trace.zst" and ".7" give "/a/trace.7.zst". A file system takes NAME_MAX bytes: of a longer name the part
 * before `word` is cut.
 */
static int insert(char *path, const char *word)
{
	char *base = strrchr(path, '/'), *dot, suffix[SUFFIX_MOST + 1] = "";
	size_t room, stem, most = NAME_MAX - NAME_ROOM - strlen(word);

	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	if (dot && dot != base && strlen(dot) <= SUFFIX_MOST)
		snprintf(suffix, sizeof(suffix), "%s", dot);
	else
		dot = base + strlen(base);
	stem = (size_t)(dot - base);
	if (stem + strlen(suffix) > most)
		stem = whole_bytes(base, most - strlen(suffix));
	room = MEMREC_PATH_MAX - (size_t)(base + stem - path);
	return (size_t)snprintf(base + stem, room, "%s%s", word, suffix) < room ? 0 : -MT_E_LIMIT;
}

/* 1: the pattern gives this process another name than other processes. */
static int tells_apart(const char *pattern, const struct output_owner *owner)
{
	return has_letter(pattern, 'p') || (has_letter(pattern, 'r') && owner->rank >= 0);
}

/* The name for the first recording of the process. */
static int first_name(char *path, const char *pattern, const struct output_owner *owner, unsigned attempt, int *plain)
{
	int apart = tells_apart(pattern, owner);
	char word[48];

	*plain = 0;
	if (expand(path, pattern, owner))
		return -MT_E_LIMIT;
	if (attempt == 0) {
		if (!apart && owner->rank >= 0) {
			snprintf(word, sizeof(word), ".rank%d", owner->rank);
			return insert(path, word);
		}
		*plain = !apart && *owner->run_dir;
		if (apart || *plain)
			return 0;
	}
	if (attempt <= 1)
		snprintf(word, sizeof(word), ".%u", owner->pid);
	else
		snprintf(word, sizeof(word), ".%u.%u", owner->pid, attempt);
	return insert(path, word);
}

int output_name(char *path, const char *pattern, const struct output_owner *owner, unsigned attempt, int *plain)
{
	int error = first_name(path, pattern, owner, attempt, plain);
	char word[16];

	if (error || owner->recording <= 1)
		return error;
	snprintf(word, sizeof(word), ".%u", owner->recording);
	return insert(path, word);
}

const char *output_fallback(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder == '/' ? folder : "/tmp";
}

int output_claim_fallback(char *path, const char *pattern, const struct output_owner *owner)
{
	struct output_owner alone = *owner;
	const char *base = strrchr(pattern, '/');
	char inside[MEMREC_PATH_MAX];
	int plain, n;

	n = snprintf(inside, sizeof(inside), "%s/" OUTPUT_FALLBACK_PREFIX "XXXXXX", output_fallback());
	if (n < 0 || (size_t)n >= sizeof(inside))
		return -MT_E_LIMIT;
	if (!mkdtemp(inside) || chmod(inside, 0755))
		return -MT_E_SYSTEM;
	n += snprintf(inside + n, sizeof(inside) - (size_t)n, "%s", base ? base : "/trace.zst");
	if ((size_t)n >= sizeof(inside))
		return -MT_E_LIMIT;
	alone.run_dir = ""; /* without the run's folder: the process may not be able to write a note there */
	return output_claim(path, inside, &alone, &plain);
}

void output_add_pid(char *pattern)
{
	if (!has_letter(pattern, 'p'))
		insert(pattern, ".%p");
}

/* The FNV-1a hash of a path: the path itself would be too long for the name of a note. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h;
}

/*
 * 1: the owner has the name now; 0: another process of the run has it; or -MT_E_SYSTEM. Without a run every name is
 * free. The note is a link to the owner's ring: the next collector of this ring gets the name, if this one dies.
 */
static int take(const char *path, const struct output_owner *owner)
{
	char note[PATH_MAX], whose[PATH_MAX], mine[PATH_MAX];
	ssize_t size;
	int n;

	if (!*owner->run_dir)
		return 1;
	n = snprintf(mine, sizeof(mine), owner->recording > 1 ? "%s.%u" : "%s", owner->ring, owner->recording);
	if (n < 0 || (size_t)n >= sizeof(mine))
		return -MT_E_SYSTEM;
	n = snprintf(note, sizeof(note), "%s/name.%016" PRIx64, owner->run_dir, hash(path));
	if (n < 0 || (size_t)n >= sizeof(note)) {
		errno = ENAMETOOLONG;
		return -MT_E_SYSTEM;
	}
	if (!symlink(mine, note))
		return 1;
	if (errno != EEXIST)
		return -MT_E_SYSTEM;
	size = readlink(note, whose, sizeof(whose));
	return size == (ssize_t)strlen(mine) && !memcmp(whose, mine, (size_t)size);
}

static int old_name(char *old, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - path) : 0,
	       size = whole_bytes(path + folder, NAME_MAX - strlen(".old"));
	int n = snprintf(old, MEMREC_PATH_MAX, "%.*s.old", (int)(folder + size), path);

	if (n > 0 && n < (int)MEMREC_PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -MT_E_SYSTEM;
}

int output_keep_old(const char *path)
{
	char old[MEMREC_PATH_MAX];
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -MT_E_SYSTEM;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) /* a device or a folder keeps its name */
		return 0;
	if (old_name(old, path))
		return -MT_E_SYSTEM;
	return rename(path, old) && errno != ENOENT ? -MT_E_SYSTEM : 0;
}

void output_restore_old(const char *path)
{
	char old[MEMREC_PATH_MAX];

	if (!old_name(old, path) && access(path, F_OK))
		rename(old, path);
}

/* Opens the file without a lock, if errno says that the file system has none. Some network file systems have none. */
static int open_without_lock(const char *path)
{
	int fd;

	if (errno != ENOSYS && errno != ENOLCK && errno != EOPNOTSUPP && errno != EINVAL)
		return -MT_E_SYSTEM;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -MT_E_SYSTEM : fd;
}

static int is_empty_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

/* Makes a new file and locks it. -MT_E_BUSY: another process has made the file meanwhile. */
static int open_new(const char *path)
{
	int fd = filelock_open(path, O_CREAT | O_EXCL);

	if (fd == -MT_E_SYSTEM && errno == EEXIST)
		return -MT_E_BUSY;
	if (fd == -MT_E_SYSTEM)
		fd = open_without_lock(path);
	if (fd == -MT_E_SYSTEM) {
		int saved = errno;

		output_restore_old(path);
		errno = saved;
	}
	return fd;
}

/*
 * Moves an older file away under its lock, so no process writes to that file. An empty file is used as it is: another
 * collector may have made the file just now, and then finds it locked.
 */
static int output_open(const char *path)
{
	int old = filelock_open(path, 0), error;

	if (old == -MT_E_BUSY || (old >= 0 && is_empty_file(old)))
		return old;
	error = output_keep_old(path);
	if (old >= 0)
		close(old);
	return error ? error : open_new(path);
}

/* 1: without a launcher, the file is a trace of the owner's pid since the last start of the machine (exec). */
static int is_own(const char *path, const struct output_owner *owner)
{
	const struct mt_process *process;
	struct mt_reader *reader;
	struct stat st;
	int own;

	if (*owner->run_dir || !owner->boot_id || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    mt_reader_open(&reader, path))
		return 0;
	process = mt_reader_process(reader);
	own = process->pid == owner->pid && !strcmp(process->boot_id, owner->boot_id) &&
	      !strcmp(process->host, owner->host);
	mt_reader_free(reader);
	return own;
}

int output_claim(char *path, const char *pattern, const struct output_owner *owner, int *plain)
{
	unsigned attempt;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		int taken, lock, error = output_name(path, pattern, owner, attempt, plain);

		if (error)
			return error;
		taken = take(path, owner);
		if (taken < 0)
			return taken;
		lock = taken && !is_own(path, owner) ? output_open(path) : -MT_E_BUSY;
		if (lock != -MT_E_BUSY)
			return lock;
	}
	return -MT_E_LIMIT;
}
