/* loaded.c - symbols, bounds and build ids of the loaded objects, by dl_iterate_phdr alone. */
#include "loaded.h"

#include <elf.h>
#include <string.h>
#include "loaded_patch.h"
#include "memtrace/base.h"
#include "memtrace/defs.h"

#define AGENT_SYMBOL "memrec_agent_step" /* exported by each copy of the agent */

/* Made by the linker: our own object. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

int loaded_is_ours(uint64_t address)
{
	return address >= (uint64_t)(uintptr_t)__ehdr_start && address < (uint64_t)(uintptr_t)_end;
}

const ElfW(Dyn) * elf_dynamic(const struct dl_phdr_info *object)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	return NULL;
}

/* Reads a pointer of the dynamic section. The loader has relocated it in ordinary objects, but not in the vdso. */
const void *elf_pointer(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

int elf_symbols(const struct dl_phdr_info *object, struct elf_symbols *tables)
{
	const ElfW(Dyn) *dynamic = elf_dynamic(object);

	memset(tables, 0, sizeof(*tables));
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			tables->symbol = elf_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_STRTAB)
			tables->string = elf_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_GNU_HASH)
			tables->hash = elf_pointer(object, dynamic->d_un.d_ptr);
	}
	return tables->symbol && tables->string;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static int is_definition(const ElfW(Sym) * symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && (type == STT_FUNC || type == STT_OBJECT);
}

/*
 * The parts of DT_GNU_HASH are: number of buckets, first symbol, bloom words, bloom shift; the bloom filter; the
 * buckets; the hashes. A bucket has the first symbol of its chain. Each symbol has one hash, whose lowest bit ends the
 * chain.
 */
static const ElfW(Sym) * find_name(const struct elf_symbols *tables, const char *name, int defined)
{
	uint32_t buckets = tables->hash[0], first = tables->hash[1], bloom_words = tables->hash[2];
	uint32_t shift = tables->hash[3], hash = gnu_hash(name), index;
	const ElfW(Addr) *bloom = (const void *)(tables->hash + 4);
	const uint32_t *bucket = (const void *)(bloom + bloom_words);
	const uint32_t *chain = bucket + buckets;
	unsigned int bits = sizeof(*bloom) * 8;
	const ElfW(Sym) * symbol;
	ElfW(Addr) word;

	if (!buckets || !bloom_words)
		return NULL;
	word = bloom[hash / bits % bloom_words];
	if (!(word >> (hash % bits) & word >> ((hash >> shift) % bits) & 1))
		return NULL;
	index = bucket[hash % buckets];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t entry = chain[index - first];

		symbol = &tables->symbol[index];
		if ((entry | 1) == (hash | 1) && (!defined || is_definition(symbol)) &&
		    !strcmp(tables->string + symbol->st_name, name))
			return symbol;
		if (entry & 1)
			return NULL;
	}
}

const ElfW(Sym) * elf_look_up(const struct elf_symbols *tables, const char *name)
{
	return tables->hash ? find_name(tables, name, 1) : NULL;
}

const ElfW(Sym) * elf_symbol(const struct elf_symbols *tables, const char *name)
{
	return tables->hash ? find_name(tables, name, 0) : NULL;
}

int elf_is_agent(const struct elf_symbols *tables)
{
	return elf_look_up(tables, AGENT_SYMBOL) != NULL;
}

struct search {
	const char *name;
	void *found;
	const char *library; /* a name of DT_NEEDED: only there */
};

static int search_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct search *search = context;
	struct elf_symbols tables;
	const ElfW(Sym) * symbol;

	if (!elf_symbols(object, &tables))
		return 0;
	symbol = elf_look_up(&tables, search->name);
	if (!symbol || elf_is_agent(&tables))
		return 0;
	search->found = (void *)(object->dlpi_addr + symbol->st_value);
	return 1;
}

void *loaded_find(const char *name)
{
	struct search search = { name, NULL, NULL };

	dl_iterate_phdr(search_object, &search);
	return search.found;
}

static int search_any(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct search *search = context;
	struct elf_symbols tables;
	const ElfW(Sym) *symbol = elf_symbols(object, &tables) ? elf_look_up(&tables, search->name) : NULL;

	if (symbol)
		search->found = (void *)(object->dlpi_addr + symbol->st_value);
	return symbol != NULL;
}

static int is_first(const char *name)
{
	struct search search = { name, NULL, NULL };

	dl_iterate_phdr(search_any, &search);
	return loaded_is_ours((uint64_t)(uintptr_t)search.found);
}

int loaded_is_first_agent(void)
{
	return is_first(AGENT_SYMBOL);
}

/*
 * The loader's list begins with the objects of the program's start, in binding order. 1: this object is before the C
 * library.
 */
static int before_libc(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	int *found = context;
	struct elf_symbols tables;

	*found = elf_dynamic(object) == _DYNAMIC;
	return *found || (elf_symbols(object, &tables) && elf_look_up(&tables, "__libc_start_main"));
}

int loaded_is_preloaded(void)
{
	int found = 0;

	dl_iterate_phdr(before_libc, &found);
	return found;
}

/* ---- What a caller is bound to ---- */

/* The object of a caller. It cannot be unloaded meanwhile, because the call has not returned. */
struct caller {
	uint64_t address; /* address of an instruction */
	const char *name, *string;
	const ElfW(Dyn) * dynamic; /* NULL: not found */
	void *own;                 /* definition in the object itself */
};

static int find_caller(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct caller *caller = context;
	struct elf_symbols tables;
	const ElfW(Sym) * symbol;
	uint64_t start, end;

	loaded_bounds(object, &start, &end);
	if (caller->address < start || caller->address >= end)
		return 0;
	if (!elf_symbols(object, &tables))
		return 1;
	symbol = elf_look_up(&tables, caller->name);
	if (symbol && !elf_is_agent(&tables))
		caller->own = (void *)(object->dlpi_addr + symbol->st_value);
	caller->string = tables.string;
	caller->dynamic = elf_dynamic(object);
	return 1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The soname: the name that DT_NEEDED of other objects has. Without one, the name of the file. */
static const char *soname_of(const struct dl_phdr_info *object, const struct elf_symbols *tables)
{
	const ElfW(Dyn) *dynamic = elf_dynamic(object);

	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_SONAME)
			return tables->string + dynamic->d_un.d_val;
	return object->dlpi_name ? base_name(object->dlpi_name) : "";
}

static int search_needed(struct dl_phdr_info *object, size_t size, void *context)
{
	struct search *search = context;
	struct elf_symbols tables;

	if (!elf_symbols(object, &tables) || strcmp(soname_of(object, &tables), base_name(search->library)) != 0)
		return 0;
	return search_object(object, size, context);
}

void *loaded_target(const char *name, const void *caller_address, int *is_own)
{
	struct caller caller = { (uint64_t)(uintptr_t)caller_address, name, NULL, NULL, NULL };
	struct search search = { name, NULL, NULL };
	const ElfW(Dyn) * dynamic;

	dl_iterate_phdr(find_caller, &caller);
	*is_own = caller.own != NULL;
	if (caller.own)
		return caller.own;
	for (dynamic = caller.dynamic; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag != DT_NEEDED)
			continue;
		search.library = caller.string + dynamic->d_un.d_val;
		if (dl_iterate_phdr(search_needed, &search))
			return search.found;
	}
	return loaded_find(name);
}

/* ---- Changes ---- */

static int take_stamp(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct loaded_stamp *stamp = context;

	stamp->adds = object->dlpi_adds;
	stamp->subs = object->dlpi_subs;
	return 1;
}

struct loaded_stamp loaded_stamp(void)
{
	struct loaded_stamp stamp = { 0, 0 };

	dl_iterate_phdr(take_stamp, &stamp);
	return stamp;
}

/* ---- Paths, bounds, build ids ---- */

struct path_search {
	const char *library;
	unsigned int nth;
	char *path;
	size_t size;
};

static int copy_path(const struct dl_phdr_info *object, struct path_search *search)
{
	size_t length = object->dlpi_name ? strlen(object->dlpi_name) : 0;

	if (!length || length >= search->size)
		return 0;
	memcpy(search->path, object->dlpi_name, length + 1);
	return 1;
}

/* 1: `path` is the library: "libx.so", "libx.so.13", "libx-4f1c9a0b.so.12" (packers add a hash). */
static int is_library(const char *path, const char *library)
{
	const char *base = base_name(path);
	size_t size = strlen(library);

	return !strncmp(base, library, size) && strchr(".-_", base[size]) && strstr(base + size, ".so");
}

static int match_library(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct path_search *search = context;

	if (!object->dlpi_name || !is_library(object->dlpi_name, search->library) || search->nth--)
		return 0;
	return copy_path(object, search);
}

static int match_own(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct path_search *search = context;

	return elf_dynamic(object) == _DYNAMIC && copy_path(object, search);
}

static int match_any(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct path_search *search = context;
	size_t length = object->dlpi_name ? strlen(object->dlpi_name) : 0;

	if (search->nth--)
		return 0;
	if (length >= search->size)
		return -1;
	memcpy(search->path, object->dlpi_name ? object->dlpi_name : "", length + 1);
	return 1;
}

int loaded_path(unsigned int nth, char *path, size_t size)
{
	struct path_search search = { NULL, nth, path, size };

	return dl_iterate_phdr(match_any, &search) == 1;
}

struct place {
	uint64_t address;
	const char *library;
};

/* 1: the object has the address and is the library; -1: it has the address. */
static int match_place(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	const struct place *place = context;
	uint64_t start, end;

	loaded_bounds(object, &start, &end);
	if (place->address < start || place->address >= end)
		return 0;
	return object->dlpi_name && is_library(object->dlpi_name, place->library) ? 1 : -1;
}

int loaded_is_in(uint64_t address, const char *library)
{
	struct place place = { address, library };

	return dl_iterate_phdr(match_place, &place) == 1;
}

int loaded_own_path(char *path, size_t size)
{
	struct path_search search = { NULL, 0, path, size };

	return dl_iterate_phdr(match_own, &search);
}

int loaded_library(const char *library, unsigned int nth, char *path, size_t size)
{
	struct path_search search = { library, nth, path, size };

	return dl_iterate_phdr(match_library, &search);
}

void loaded_bounds(const struct dl_phdr_info *object, uint64_t *start, uint64_t *end)
{
	int i;

	*start = UINT64_MAX;
	*end = 0;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uint64_t from = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (from < *start)
			*start = from;
		if (from + segment->p_memsz > *end)
			*end = from + segment->p_memsz;
	}
	if (*start > *end)
		*start = *end;
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

/* Notes of one segment: a header, then the name and the contents, each padded to 4 bytes. */
static const uint8_t *find_build_id(const uint8_t *note, size_t left, uint32_t *size)
{
	while (left >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const void *)note;
		size_t name = padded(header->n_namesz), contents = padded(header->n_descsz);

		if (name > left || contents > left || sizeof(*header) + name + contents > left)
			break;
		note += sizeof(*header);
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && !memcmp(note, "GNU", 4) &&
		    header->n_descsz <= MT_BUILD_ID_MAX) {
			*size = header->n_descsz;
			return note + name;
		}
		note += name + contents;
		left -= sizeof(*header) + name + contents;
	}
	return NULL;
}

const uint8_t *loaded_build_id(const struct dl_phdr_info *object, uint32_t *size)
{
	int i;

	*size = 0;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const uint8_t *id;

		if (segment->p_type != PT_NOTE)
			continue;
		id = find_build_id((const uint8_t *)(object->dlpi_addr + segment->p_vaddr), segment->p_memsz, size);
		if (id)
			return id;
	}
	return NULL;
}
