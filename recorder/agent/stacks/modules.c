/*
 * modules.c - logs the loaded objects, in one pass after each load or unload.
 *
 * One thread works at a time, and the others wait a little for it. They do not wait without end: a thread that waits
 * here can hold the loader's lock that the pass needs.
 */
#include "modules.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "agent/loaded/loaded.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "stack.h"

#define WAIT_TRIES 100 /* 10 ms */
#define WAIT_STEP_NS 100000

struct scan {
	struct modules *modules;
	struct ring *ring;
	struct hash_set *known;
	uint64_t changes; /* the loader's count of changes, as of this scan */
	int taken;        /* 1: a new object lies where another one lay */
	int error;
};

void modules_init(struct modules *modules)
{
	atomic_store(&modules->scanned, 0);
	atomic_store(&modules->scanning, 0);
	atomic_store(&modules->generation, 0);
	modules->count = 0;
}

uint32_t modules_generation(const struct modules *modules)
{
	return atomic_load_explicit(&modules->generation, memory_order_acquire);
}

static int take_changes(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	*(uint64_t *)context = hash_finish(hash_mix(object->dlpi_adds, object->dlpi_subs));
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
	uint8_t *texts;

	if (!log)
		return -MT_E_SPACE;
	texts = (uint8_t *)(module + 1);
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
	uint64_t key = hash_mix(hash_mix(hash_start(HASH_MODULE), start), end);
	uint32_t id_bytes, i;
	const uint8_t *id = loaded_build_id(object, &id_bytes);

	for (; *c; c++)
		key = hash_mix(key, (uint8_t)*c);
	for (i = 0; i < id_bytes; i++)
		key = hash_mix(key, id[i]);
	return hash_finish(key);
}

static int is_known(const struct modules *modules, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < modules->count; i++)
		if (modules->known[i].key == key)
			return 1;
	return 0;
}

/* 1: another known object was at this place. */
static int take_place(struct modules *modules, uint64_t key, uint64_t start, uint64_t end)
{
	struct module_known *known, *place = NULL;
	int taken = 0;
	uint32_t i;

	for (i = 0; i < modules->count; i++) {
		known = &modules->known[i];
		if (known->key && (known->end <= start || known->start >= end))
			continue;
		taken |= known->key != 0;
		known->key = 0;
		place = known;
	}
	if (!place && modules->count < MODULES_KNOWN)
		place = &modules->known[modules->count++];
	if (place)
		*place = (struct module_known){ key, start, end };
	return taken;
}

/* Beyond MODULES_KNOWN only the set of hashes knows. */
static int is_logged(const struct scan *scan, uint64_t key)
{
	return is_known(scan->modules, key) ||
	       (scan->modules->count == MODULES_KNOWN && hash_set_has(scan->known, key));
}

static int scan_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct scan *scan = context;
	uint64_t start, end, key;

	loaded_bounds(object, &start, &end);
	if (start == end)
		return 0;
	key = key_of(object, start, end);
	if (is_logged(scan, key))
		return 0;
	scan->error = log_module(scan->ring, object, start, end);
	if (scan->error)
		return 1;
	if (take_place(scan->modules, key, start, end)) {
		stack_native_replaced(start, end);
		scan->taken = 1;
	}
	hash_set_add(scan->known, key);
	return 0;
}

/* 1: this thread owns the list. 0: another thread has scanned since `changes`, or takes too long. */
static int begin_scan(struct modules *modules, uint64_t changes)
{
	struct timespec step = { 0, WAIT_STEP_NS };
	uint32_t idle;
	int tries;

	for (tries = 0; tries < WAIT_TRIES; tries++) {
		idle = 0;
		if (atomic_compare_exchange_strong(&modules->scanning, &idle, 1))
			return 1;
		syscall(SYS_nanosleep, &step, NULL);
		if (atomic_load_explicit(&modules->scanned, memory_order_acquire) == changes)
			return 0;
	}
	return 0;
}

static int is_in_module(const struct modules *modules, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < modules->count; i++)
		if (modules->known[i].key && address > modules->known[i].start && address <= modules->known[i].end)
			return 1;
	return 0;
}

uint32_t modules_trust(struct modules *modules, const uint64_t *address, uint32_t count)
{
	uint32_t i;

	if (!begin_scan(modules, 0))
		return count;
	for (i = 0; i < count && (modules->count == MODULES_KNOWN || is_in_module(modules, address[i])); i++)
		;
	atomic_store_explicit(&modules->scanning, 0, memory_order_release);
	return i < count ? i + 1 : count;
}

/* The loader's count of changes to its list. */
static uint64_t count_changes(void)
{
	uint64_t changes = 0;

	dl_iterate_phdr(take_changes, &changes);
	return changes;
}

int modules_have_changed(const struct modules *modules)
{
	return atomic_load_explicit(&modules->scanned, memory_order_acquire) != count_changes();
}

int modules_log(struct modules *modules, struct ring *ring, struct hash_set *known)
{
	struct scan scan = { modules, ring, known, count_changes(), 0, 0 };

	if (atomic_load_explicit(&modules->scanned, memory_order_acquire) == scan.changes)
		return 0;
	if (!begin_scan(modules, scan.changes))
		return 1;
	dl_iterate_phdr(scan_object, &scan);
	if (scan.taken)
		atomic_fetch_add_explicit(&modules->generation, 1, memory_order_release);
	if (!scan.error)
		atomic_store_explicit(&modules->scanned, scan.changes, memory_order_release);
	atomic_store_explicit(&modules->scanning, 0, memory_order_release);
	return scan.error ? scan.error : 1;
}
