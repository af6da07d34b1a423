/* host_sample.c - reads the memory of process, cgroup and machine: see sampling.h. */
#include "sampling.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/base.h"

#define TEXT_MAX 65536u
#define NO_LIMIT (UINT64_C(1) << 62) /* smallest number that means no limit: version 1 has 2^63 less a page */

/* Names of files and of their lines in versions 1 and 2 of cgroups. */
static const struct names {
	const char *use, *limit, *events;
	const char *cache[3]; /* lines of memory.stat with bytes that the kernel can drop, inner levels included */
} names[] = {
	[1] = { "memory.usage_in_bytes",
		"memory.limit_in_bytes",
		"memory.oom_control",
		{ "total_inactive_file", "total_active_file", NULL } },
	[2] = { "memory.current",
		"memory.max",
		"memory.events",
		{ "inactive_file", "active_file", "slab_reclaimable" } },
};

/* ---- small files ---- */

/* Reads a file into `text` and ends it with a NUL. "": the file cannot be read. */
static char *read_text(const char *root, const char *path, char text[TEXT_MAX])
{
	char full[HOST_PATH_MAX + 512];
	ssize_t n = 1;
	size_t size = 0;
	int fd;

	snprintf(full, sizeof(full), "%s%s", root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && size < TEXT_MAX - 1) {
		n = read(fd, text + size, TEXT_MAX - 1 - size);
		size += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[size] = '\0';
	return text;
}

static char *read_in(const struct host_sampler *sampler, const char *folder, size_t length, const char *name,
		     char text[TEXT_MAX])
{
	char path[HOST_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, name);
	return read_text(sampler->root, path, text);
}

/* The number in the line that begins with `key`; 0: no line does. */
static uint64_t number_of(const char *text, const char *key)
{
	size_t length = strlen(key);
	const char *line;

	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, key, length) && strchr(" \t:", line[length]) && line[length])
			return strtoull(line + length + strspn(line + length, " \t:"), NULL, 10);
	return 0;
}

/* ---- the folder of the cgroup ---- */

/* 1: `word` is in the list, which has commas between its words. */
static int has_word(const char *list, size_t size, const char *word)
{
	size_t length = strlen(word), at = 0, next;

	while (at < size) {
		next = strcspn(list + at, ",");
		if (next > size - at)
			next = size - at;
		if (next == length && !strncmp(list + at, word, length))
			return 1;
		at += next + 1;
	}
	return 0;
}

/*
 * Finds the path of the process's memory cgroup in /proc/PID/cgroup: "4:memory:/a/b" (version 1) or "0::/a/b" (version
 * 2). If the text has both lines, version 1 counts memory. Returns the version; 0: no such line.
 */
static int find_path(char *text, const char **path)
{
	char *line, *next, *list, *at;
	int version = 0;

	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		list = strchr(line, ':');
		at = list ? strchr(list + 1, ':') : NULL;
		if (!at)
			continue;
		if (at == list + 1 && !version) {
			*path = at + 1;
			version = 2;
		} else if (has_word(list + 1, (size_t)(at - list - 1), "memory")) {
			*path = at + 1;
			version = 1;
		}
	}
	return version;
}

/*
 * Reads a line of mountinfo: "35 31 0:32 ROOT POINT options... - TYPE source OPTIONS". 1: the line is the mount of the
 * memory cgroups of `version`.
 */
static int parse_mount(const char *line, int version, char root[HOST_PATH_MAX], char point[HOST_PATH_MAX])
{
	char type[32], options[256];
	const char *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) != 2 ||
	    sscanf(rest, " - %31s %*s %255s", type, options) != 2)
		return 0;
	if (version == 2)
		return !strcmp(type, "cgroup2");
	return !strcmp(type, "cgroup") && has_word(options, strlen(options), "memory");
}

/*
 * Joins the mount point and the process's path below `root`, the part of the machine's tree that is mounted. In another
 * namespace the path does not begin with `root`: the mount point is then the innermost level.
 */
static void join(struct host_sampler *sampler, const char *path, const char *root, const char *point)
{
	size_t length = strcmp(root, "/") ? strlen(root) : 0;
	const char *below = !strncmp(path, root, length) && (path[length] == '/' || !path[length]) ? path + length : "";

	if (strstr(below, "/..") || !strcmp(below, "/"))
		below = "";
	if (strlen(point) + strlen(below) >= sizeof(sampler->cgroup)) {
		sampler->version = 0;
		return;
	}
	snprintf(sampler->cgroup, sizeof(sampler->cgroup), "%s%s", point, below);
	sampler->mount = strlen(point);
}

static void find_cgroup(struct host_sampler *sampler, char text[TEXT_MAX])
{
	char proc[48], own[HOST_PATH_MAX], root[HOST_PATH_MAX], point[HOST_PATH_MAX];
	const char *path = "", *line;

	snprintf(proc, sizeof(proc), "/proc/%d/cgroup", (int)sampler->pid);
	sampler->version = find_path(read_text(sampler->root, proc, text), &path);
	mt_copy_text(own, sizeof(own), path);
	if (!sampler->version)
		return;
	read_text(sampler->root, "/proc/self/mountinfo", text);
	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (!parse_mount(line, sampler->version, root, point))
			continue;
		join(sampler, own, root, point);
		return;
	}
	sampler->version = 0;
}

/* ---- figures ---- */

/* The number of processes that the kernel killed in the cgroup for want of memory. */
static uint64_t kills(const struct host_sampler *sampler, char text[TEXT_MAX])
{
	if (!sampler->version)
		return 0;
	return number_of(read_in(sampler, sampler->cgroup, strlen(sampler->cgroup), names[sampler->version].events,
				 text),
			 "oom_kill");
}

/* The limit of the level whose path is the first `length` bytes of `cgroup`; 0: none ("max" in version 2). */
static uint64_t limit_of(const struct host_sampler *sampler, size_t length, char text[TEXT_MAX])
{
	uint64_t limit;

	read_in(sampler, sampler->cgroup, length, names[sampler->version].limit, text);
	limit = *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
	return limit < NO_LIMIT ? limit : 0;
}

/*
 * Reads the use of that level. 0: the level has no figures (the root of version 2), or its use is below half of the
 * process's `own` bytes, and it cannot hold the process.
 */
static int read_use(const struct host_sampler *sampler, size_t length, uint64_t own, uint64_t *use, char text[TEXT_MAX])
{
	const struct names *name = &names[sampler->version];
	uint64_t cache = 0;
	size_t i;

	if (!*read_in(sampler, sampler->cgroup, length, name->use, text))
		return 0;
	*use = strtoull(text, NULL, 10);
	if (*use < own / 2)
		return 0;
	read_in(sampler, sampler->cgroup, length, "memory.stat", text);
	for (i = 0; i < MT_ARRAY_SIZE(name->cache) && name->cache[i]; i++)
		cache += number_of(text, name->cache[i]);
	*use -= cache < *use ? cache : *use;
	return 1;
}

static uint64_t room(uint64_t use, uint64_t limit)
{
	return !limit ? UINT64_MAX : limit > use ? limit - use : 0;
}

/*
 * Looks at all levels, the innermost first, and takes the level with the least room below its limit. The use of an outer level without a limit is
 * not read: the kernel adds up all processes of the machine for it.
 */
static void read_cgroup(const struct host_sampler *sampler, uint64_t own, struct host_figures *figures,
			char text[TEXT_MAX])
{
	size_t length = strlen(sampler->cgroup);
	uint64_t use, limit;
	int any = 0;

	while (sampler->version && length >= sampler->mount && length) {
		limit = limit_of(sampler, length, text);
		if ((limit || !any) && read_use(sampler, length, own, &use, text) &&
		    (!any || room(use, limit) < room(figures->cgroup, figures->cgroup_limit))) {
			figures->cgroup = use;
			figures->cgroup_limit = limit;
			any = 1;
		}
		do
			length--;
		while (length > sampler->mount && sampler->cgroup[length] != '/');
	}
}

void host_sampler_read(const struct host_sampler *sampler, struct host_figures *figures)
{
	char text[TEXT_MAX], path[48];
	unsigned long long pages = 0, shared = 0;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t now;

	memset(figures, 0, sizeof(*figures));
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)sampler->pid);
	if (sscanf(read_text(sampler->root, path, text), "%*s %llu %llu", &pages, &shared) >= 1)
		figures->resident = pages * page;
	figures->available = number_of(read_text(sampler->root, "/proc/meminfo", text), "MemAvailable") * 1024;
	read_cgroup(sampler, shared < pages ? (pages - shared) * page : 0, figures, text);
	now = kills(sampler, text);
	figures->killed = now > sampler->killed_before ? now - sampler->killed_before : 0;
}

void host_sampler_init(struct host_sampler *sampler, const char *root, pid_t pid)
{
	char text[TEXT_MAX];

	memset(sampler, 0, sizeof(*sampler));
	sampler->pid = pid;
	mt_copy_text(sampler->root, sizeof(sampler->root), root);
	find_cgroup(sampler, text);
	sampler->killed_before = kills(sampler, text);
}
