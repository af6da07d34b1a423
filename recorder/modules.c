/* modules.c - one pass over the loaded objects whenever something was loaded or unloaded. */
#include "modules.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

struct scan {
	struct ring *ring;
	struct seen *seen;
	uint64_t changes; /* of the loader's list, as of this scan */
	int error;
};

static int take_changes(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	*(uint64_t *)context = seen_finish(seen_mix(object->dlpi_adds, object->dlpi_subs));
	return 1;
}

/* The program itself has no name in the loader's list. */
static uint32_t path_of(const struct dl_phdr_info *object, char *path)
{
	ssize_t length;
	size_t given = object->dlpi_name ? strnlen(object->dlpi_name, PATH_MAX) : 0;

	if (given) {
		memcpy(path, object->dlpi_name, given);
		return (uint32_t)given;
	}
	length = readlink("/proc/self/exe", path, PATH_MAX);
	return length > 0 ? (uint32_t)length : 0;
}

static int log_module(struct ring *ring, const struct dl_phdr_info *object, uint64_t start, uint64_t end)
{
	char path[PATH_MAX];
	uint32_t path_bytes = path_of(object, path), id_bytes;
	const uint8_t *id = loaded_build_id(object, &id_bytes);
	size_t bytes = sizeof(struct ring_log_module) + id_bytes + path_bytes;
	struct ring_log *log = ring_log_begin(ring, RING_LOG_MODULE, bytes);
	struct ring_log_module *module = (struct ring_log_module *)log;
	uint8_t *texts = (uint8_t *)(module + 1);

	if (!log)
		return -MT_E_SPACE;
	module->start = start;
	module->end = end;
	module->bias = object->dlpi_addr;
	module->build_id_bytes = id_bytes;
	module->path_bytes = path_bytes;
	if (id_bytes)
		memcpy(texts, id, id_bytes);
	memcpy(texts + id_bytes, path, path_bytes);
	ring_log_end(log, bytes);
	return 0;
}

static uint64_t key_of(const struct dl_phdr_info *object, uint64_t start, uint64_t end)
{
	const char *c = object->dlpi_name ? object->dlpi_name : "";
	uint64_t key = seen_mix(seen_mix(seen_start(SEEN_MODULE), start), end);

	for (; *c; c++)
		key = seen_mix(key, (uint8_t)*c);
	return seen_finish(key);
}

static int scan_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct scan *scan = context;
	uint64_t start, end, key;

	loaded_bounds(object, &start, &end);
	if (start == end)
		return 0;
	key = key_of(object, start, end);
	if (seen_has(scan->seen, key))
		return 0;
	scan->error = log_module(scan->ring, object, start, end);
	if (!scan->error)
		seen_add(scan->seen, key);
	return scan->error != 0;
}

int modules_log(struct modules *modules, struct ring *ring, struct seen *seen)
{
	struct scan scan = { ring, seen, 0, 0 };

	dl_iterate_phdr(take_changes, &scan.changes);
	if (atomic_load_explicit(&modules->scanned, memory_order_acquire) == scan.changes)
		return 0;
	dl_iterate_phdr(scan_object, &scan);
	if (!scan.error)
		atomic_store_explicit(&modules->scanned, scan.changes, memory_order_release);
	return scan.error;
}
