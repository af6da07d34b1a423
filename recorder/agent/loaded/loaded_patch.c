/*
 * loaded_patch.c - finds the slots of a name and writes them, safely for threads that use them.
 *
 *     call f ──> PLT ──> slot (GOT) ──> f          the loader fills the slot in when it loads the object, or at the
 *                          ^                       first call (lazy binding); DT_JMPREL and DT_RELA list the slots
 *                          └── we write here
 *
 * An object is in the loader's list before its slots are filled in. Such a slot must not be written: the loader would
 * add the object's address to the new pointer, replace it, or find its page sealed. Two facts show a finished slot. It
 * points to the object's own PLT or to a definition of the name. If its memory is sealed after relocation (RELRO), its
 * page is not writable any more.
 */
#include "loaded_patch.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/ring/hash_set.h"
#include "loaded.h"
#include "memtrace/base.h"
#include "shared/machine.h"

#define PAGE 4096u
#define DONE_MAX 2048u /* objects remembered, a power of two */

enum outcome { BOUND_BEFORE, BOUND, NOT_OURS, NOT_YET };

/* The lists of slots of one object. */
struct slots {
	const ElfW(Rela) * calls, *data; /* DT_JMPREL; DT_RELA without entries that have no name */
	size_t calls_count, data_count;
};

static void find_slots(const struct dl_phdr_info *object, struct slots *slots)
{
	const ElfW(Dyn) *dynamic = elf_dynamic(object);
	size_t relative = 0;

	memset(slots, 0, sizeof(*slots));
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_RELA)
			slots->data = elf_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_RELASZ)
			slots->data_count = dynamic->d_un.d_val / sizeof(*slots->data);
		else if (dynamic->d_tag == DT_RELACOUNT)
			relative = dynamic->d_un.d_val;
		else if (dynamic->d_tag == DT_JMPREL)
			slots->calls = elf_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_PLTRELSZ)
			slots->calls_count = dynamic->d_un.d_val / sizeof(*slots->calls);
	}
	if (!slots->calls)
		slots->calls_count = 0;
	if (!slots->data || relative > slots->data_count)
		slots->data_count = 0;
	if (slots->data_count) {
		slots->data += relative;
		slots->data_count -= relative;
	}
}

/* 1: the slot holds just the address of a named function: for a call, a pointer or a table. */
static int is_slot(const ElfW(Rela) * rela)
{
	switch (ELF64_R_TYPE(rela->r_info)) {
	case MACHINE_RELOC_CALL:
	case MACHINE_RELOC_POINTER:
		return 1;
	case MACHINE_RELOC_ADDRESS:
		return !rela->r_addend;
	default:
		return 0;
	}
}

/* 1: the loader makes the slot's page read-only after filling it in. It seals whole pages only. */
static int is_sealed(const struct dl_phdr_info *object, uintptr_t address)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;

		if (segment->p_type == PT_GNU_RELRO && address >= (start & ~(uintptr_t)(PAGE - 1)) &&
		    address < (end & ~(uintptr_t)(PAGE - 1)))
			return 1;
	}
	return 0;
}

/*
 * Writes a slot. A sealed page is writable meanwhile, and sealed again after it; no other code changes this page. 1:
 * written.
 */
static int write_slot(const struct dl_phdr_info *object, void **slot, void *function)
{
	int sealed = is_sealed(object, (uintptr_t)slot);
	void *page = (void *)((uintptr_t)slot & ~(uintptr_t)(PAGE - 1));

	if (sealed && mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		return 0;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (sealed)
		mprotect(page, PAGE, PROT_READ);
	return 1;
}

/* ---- In objects that are known to be loaded ---- */

struct patch {
	const char *part, *symbol;
	void *replacement;
	int slots; /* written */
};

static void patch_list(struct patch *patch, const struct dl_phdr_info *object, const struct elf_symbols *tables,
		       const ElfW(Rela) * rela, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &tables->symbol[ELF64_R_SYM(rela[i].r_info)];
		void **slot = (void **)(object->dlpi_addr + rela[i].r_offset);

		if (is_slot(&rela[i]) && !strcmp(tables->string + symbol->st_name, patch->symbol))
			patch->slots += write_slot(object, slot, patch->replacement);
	}
}

static int patch_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct patch *patch = context;
	struct elf_symbols tables;
	struct slots slots;

	if (!object->dlpi_name || !strstr(object->dlpi_name, patch->part) || !elf_symbols(object, &tables))
		return 0;
	find_slots(object, &slots);
	patch_list(patch, object, &tables, slots.calls, slots.calls_count);
	patch_list(patch, object, &tables, slots.data, slots.data_count);
	return 0;
}

int loaded_patch(const char *part, const char *symbol, void *replacement)
{
	struct patch patch = { part, symbol, replacement, 0 };

	dl_iterate_phdr(patch_object, &patch);
	return patch.slots;
}

/* ---- in all loaded objects, finished or not ---- */

/* A symbol of the object with a hook. An object may have one name twice, in different versions. */
struct match {
	uint32_t symbol;
	const struct loaded_hook *hook;
};

struct rebind {
	const struct loaded_hook *hooks;
	size_t count;
	struct loaded_pass *pass;
	/* Tables of the object at hand. */
	const struct dl_phdr_info *object;
	struct elf_symbols tables;
	struct match match[2 * LOADED_HOOKS_MAX];
	size_t matches;
};

/* Objects that are done. An unload clears the list, because addresses are used again. */
static struct {
	uint64_t subs;
	uint64_t key[DONE_MAX];
} done;

static uint64_t key_of(const struct dl_phdr_info *object)
{
	const char *c = object->dlpi_name ? object->dlpi_name : "";
	uint64_t key = hash_mix(hash_mix(hash_start(HASH_MODULE), object->dlpi_addr), (uintptr_t)object->dlpi_phdr);

	for (; *c; c++)
		key = hash_mix(key, (uint8_t)*c);
	return hash_finish(key);
}

/* Returns the place of the key, or a place for it. NULL: no room nearby, so the object is checked each time. */
static uint64_t *done_place(uint64_t key)
{
	size_t i;

	for (i = 0; i < 16; i++) {
		uint64_t *place = &done.key[(key + i) % DONE_MAX];

		if (!*place || *place == key)
			return place;
	}
	return NULL;
}

/* Most symbols without a definition come first and are in no table of names; how many there are is not always said. */
static uint32_t unnamed_symbols(const struct elf_symbols *tables, const struct slots *slots)
{
	uint32_t last = 0;
	size_t i;

	if (tables->hash && tables->hash[1] > 1)
		return tables->hash[1];
	for (i = 0; i < slots->calls_count; i++)
		if (ELF64_R_SYM(slots->calls[i].r_info) > last)
			last = (uint32_t)ELF64_R_SYM(slots->calls[i].r_info);
	for (i = 0; i < slots->data_count; i++)
		if (ELF64_R_SYM(slots->data[i].r_info) > last)
			last = (uint32_t)ELF64_R_SYM(slots->data[i].r_info);
	return last + 1;
}

static void add_match(struct rebind *rebind, uint32_t symbol, const struct loaded_hook *hook)
{
	if (rebind->matches < MT_ARRAY_SIZE(rebind->match))
		rebind->match[rebind->matches++] = (struct match){ symbol, hook };
}

static void find_matches(struct rebind *rebind, uint32_t unnamed)
{
	const struct elf_symbols *tables = &rebind->tables;
	const ElfW(Sym) * named;
	uint32_t i;
	size_t j;

	rebind->matches = 0;
	for (i = 1; i < unnamed; i++) {
		const char *name = tables->string + tables->symbol[i].st_name;

		for (j = 0; j < rebind->count; j++)
			if (!strcmp(name, rebind->hooks[j].symbol))
				add_match(rebind, i, &rebind->hooks[j]);
	}
	for (j = 0; j < rebind->count; j++) {
		named = elf_symbol(tables, rebind->hooks[j].symbol);
		if (named && named >= tables->symbol + unnamed)
			add_match(rebind, (uint32_t)(named - tables->symbol), &rebind->hooks[j]);
	}
}

/* The object at an address. */
struct owner {
	uint64_t address;
	const char *symbol;
	int found, defines; /* 1: an object has the address; 1: it defines the symbol exactly there */
};

static int find_owner(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct owner *owner = context;
	struct elf_symbols tables;
	const ElfW(Sym) * symbol;
	uint64_t start, end;

	loaded_bounds(object, &start, &end);
	if (owner->address < start || owner->address >= end)
		return 0;
	owner->found = 1;
	if (!elf_symbols(object, &tables))
		return 1;
	symbol = elf_look_up(&tables, owner->symbol);
	owner->defines = symbol && object->dlpi_addr + symbol->st_value == owner->address;
	return 1;
}

/*
 * State of parsing "7f12a000-7f12b000 rw-p ...", to find the permissions at `address`. The rest of a line is skipped.
 */
struct maps_line {
	uint64_t start, end;
	int field; /* 0: start, 1: end, 2: permissions, 3: the rest */
	int writable;
};

/* Parses one character. 1: the line of `address` was parsed. */
static int read_maps(struct maps_line *line, char c, uint64_t address)
{
	if (c == '\n') {
		memset(line, 0, sizeof(*line));
	} else if (line->field < 2 && (c == '-' || c == ' ')) {
		line->field++;
	} else if (line->field < 2) {
		uint64_t *number = line->field ? &line->end : &line->start;

		*number = *number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	} else if (line->field == 2 && c == ' ') {
		line->field++;
		return address >= line->start && address < line->end;
	} else if (line->field == 2 && c == 'w') {
		line->writable = 1;
	}
	return 0;
}

/* 1: the page is writable, or its permissions are unknown. */
static int is_writable(uint64_t address)
{
	struct maps_line line = { 0, 0, 0, 0 };
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), known = 0;
	char bytes[4096];
	ssize_t size = 1, i;

	while (fd >= 0 && !known && size > 0) {
		size = read(fd, bytes, sizeof(bytes));
		for (i = 0; i < size && !known; i++)
			known = read_maps(&line, bytes[i], address);
	}
	if (fd >= 0)
		close(fd);
	return !known || line.writable;
}

/* Decides whether a slot with `value` may be written. */
static enum outcome judge(const struct rebind *rebind, const void *slot, uint64_t value, const char *symbol)
{
	struct owner owner = { value, symbol, 0, 0 };
	uint64_t start, end;

	loaded_bounds(rebind->object, &start, &end);
	if (value < start || value >= end) {
		dl_iterate_phdr(find_owner, &owner);
		if (!owner.found)
			return NOT_YET;
		if (!owner.defines)
			return NOT_OURS;
	}
	if (is_sealed(rebind->object, (uintptr_t)slot) && is_writable((uint64_t)(uintptr_t)slot))
		return NOT_YET;
	return BOUND;
}

static enum outcome bind_slot(const struct rebind *rebind, void **slot, const struct loaded_hook *hook)
{
	void *value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	enum outcome outcome;

	if (value == hook->function)
		return BOUND_BEFORE;
	outcome = judge(rebind, slot, (uint64_t)(uintptr_t)value, hook->symbol);
	if (outcome == BOUND && !write_slot(rebind->object, slot, hook->function))
		return NOT_OURS;
	return outcome;
}

/* 1: all slots of the list that have a hook are done. */
static int bind_list(const struct rebind *rebind, const ElfW(Rela) * rela, size_t count)
{
	enum outcome outcome;
	size_t i, j;
	int all = 1;

	for (i = 0; i < count; i++) {
		if (!is_slot(&rela[i]))
			continue;
		for (j = 0; j < rebind->matches; j++) {
			if (ELF64_R_SYM(rela[i].r_info) != rebind->match[j].symbol)
				continue;
			outcome = bind_slot(rebind, (void **)(rebind->object->dlpi_addr + rela[i].r_offset),
					    rebind->match[j].hook);
			if (outcome == BOUND)
				rebind->pass->bound |= 1u << (rebind->match[j].hook - rebind->hooks);
			all &= outcome != NOT_YET;
		}
	}
	return all;
}

static int rebind_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct rebind *rebind = context;
	uint64_t key = key_of(object), *place;
	struct slots slots;
	int all = 1;

	if (done.subs != object->dlpi_subs) {
		memset(&done, 0, sizeof(done));
		done.subs = object->dlpi_subs;
	}
	place = done_place(key);
	if (place && *place == key)
		return 0;
	if (elf_symbols(object, &rebind->tables) && !elf_is_agent(&rebind->tables)) {
		rebind->object = object;
		find_slots(object, &slots);
		find_matches(rebind, unnamed_symbols(&rebind->tables, &slots));
		if (rebind->matches) {
			all = bind_list(rebind, slots.calls, slots.calls_count);
			all &= bind_list(rebind, slots.data, slots.data_count);
		}
	}
	if (all && place)
		*place = key;
	rebind->pass->later += !all;
	return 0;
}

void loaded_rebind(const struct loaded_hook *hooks, size_t count, struct loaded_pass *pass)
{
	struct rebind rebind = { .hooks = hooks, .count = count, .pass = pass };

	memset(pass, 0, sizeof(*pass));
	if (count <= LOADED_HOOKS_MAX)
		dl_iterate_phdr(rebind_object, &rebind);
}
