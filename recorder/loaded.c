/* loaded.c - symbols, bounds and build ids of the loaded objects, by dl_iterate_phdr alone. */
#include "loaded.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include "memtrace/base.h"
#include "memtrace/defs.h"

#define PAGE 4096u
#define AGENT_SYMBOL "memrec_agent_step" /* every copy of the agent exports it */

/* Made by the linker: our own object. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

int loaded_is_ours(uint64_t address)
{
	return address >= (uint64_t)(uintptr_t)__ehdr_start && address < (uint64_t)(uintptr_t)_end;
}

/* The tables that a lookup by name needs. */
struct symbols {
	const ElfW(Sym) *symbol;
	const char *string;
	const uint32_t *hash; /* DT_GNU_HASH */
};

static const ElfW(Dyn) *find_dynamic(const struct dl_phdr_info *object)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	return NULL;
}

/* The loader relocates the dynamic section of ordinary objects in place, that of the vdso it leaves alone. */
static const void *dynamic_pointer(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static int find_tables(const struct dl_phdr_info *object, struct symbols *tables)
{
	const ElfW(Dyn) *dynamic = find_dynamic(object);

	memset(tables, 0, sizeof(*tables));
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			tables->symbol = dynamic_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_STRTAB)
			tables->string = dynamic_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_GNU_HASH)
			tables->hash = dynamic_pointer(object, dynamic->d_un.d_ptr);
	}
	return tables->symbol && tables->string && tables->hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static int is_definition(const struct symbols *tables, const ElfW(Sym) *symbol, const char *name)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && (type == STT_FUNC || type == STT_OBJECT) &&
	       !strcmp(tables->string + symbol->st_name, name);
}

/*
 * DT_GNU_HASH: bucket count, first symbol, bloom words, bloom shift; the bloom filter; the buckets (first symbol of
 * a chain); then one hash per symbol, whose lowest bit ends the chain.
 */
static const ElfW(Sym) *look_up(const struct symbols *tables, const char *name)
{
	uint32_t buckets = tables->hash[0], first = tables->hash[1], bloom_words = tables->hash[2];
	uint32_t shift = tables->hash[3], hash = gnu_hash(name), index;
	const ElfW(Addr) *bloom = (const void *)(tables->hash + 4);
	const uint32_t *bucket = (const void *)(bloom + bloom_words);
	const uint32_t *chain = bucket + buckets;
	unsigned int bits = sizeof(*bloom) * 8;
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

		if ((entry | 1) == (hash | 1) && is_definition(tables, &tables->symbol[index], name))
			return &tables->symbol[index];
		if (entry & 1)
			return NULL;
	}
}

struct search {
	const char *part; /* of the object's path; NULL: any */
	const char *name;
	void *found;
};

static int path_has(const struct dl_phdr_info *object, const char *part)
{
	return object->dlpi_name && strstr(object->dlpi_name, part);
}

/* Ours or another one: its hooks are no real functions, and calling them would come back to us. */
static int is_agent(const struct symbols *tables)
{
	return look_up(tables, AGENT_SYMBOL) != NULL;
}

static int search_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct search *search = context;
	struct symbols tables;
	const ElfW(Sym) *symbol;

	if (search->part && !path_has(object, search->part))
		return 0;
	if (!find_tables(object, &tables))
		return 0;
	symbol = look_up(&tables, search->name);
	if (!symbol || is_agent(&tables))
		return 0;
	search->found = (void *)(object->dlpi_addr + symbol->st_value);
	return 1;
}

void *loaded_find_in(const char *part, const char *name)
{
	struct search search = { part, name, NULL };

	dl_iterate_phdr(search_object, &search);
	return search.found;
}

void *loaded_find(const char *name)
{
	return loaded_find_in(NULL, name);
}

static int search_any(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct search *search = context;
	struct symbols tables;
	const ElfW(Sym) *symbol = find_tables(object, &tables) ? look_up(&tables, search->name) : NULL;

	if (symbol)
		search->found = (void *)(object->dlpi_addr + symbol->st_value);
	return symbol != NULL;
}

int loaded_is_first(const char *name)
{
	struct search search = { NULL, name, NULL };

	dl_iterate_phdr(search_any, &search);
	return loaded_is_ours((uint64_t)(uintptr_t)search.found);
}

int loaded_is_first_agent(void)
{
	return loaded_is_first(AGENT_SYMBOL);
}

/* ---- Slots ---- */

struct patch {
	const char *part, *symbol;
	void *replacement;
	int slots; /* written */
};

/* What the loader made read-only once it had filled it in. */
static int is_sealed(const struct dl_phdr_info *object, uintptr_t address)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_RELRO && address >= start && address < start + segment->p_memsz)
			return 1;
	}
	return 0;
}

static void write_slot(struct patch *patch, const struct dl_phdr_info *object, void **slot)
{
	int sealed = is_sealed(object, (uintptr_t)slot);
	void *page = (void *)((uintptr_t)slot & ~(uintptr_t)(PAGE - 1));

	if (sealed && mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, patch->replacement, __ATOMIC_RELEASE);
	if (sealed)
		mprotect(page, PAGE, PROT_READ);
	patch->slots++;
}

static void patch_table(struct patch *patch, const struct dl_phdr_info *object, const struct symbols *tables,
			const ElfW(Rela) *rela, size_t bytes)
{
	size_t i;

	for (i = 0; rela && i < bytes / sizeof(*rela); i++) {
		uint32_t type = ELF64_R_TYPE(rela[i].r_info);
		const ElfW(Sym) *symbol = &tables->symbol[ELF64_R_SYM(rela[i].r_info)];

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
		    !strcmp(tables->string + symbol->st_name, patch->symbol))
			write_slot(patch, object, (void **)(object->dlpi_addr + rela[i].r_offset));
	}
}

static int patch_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct patch *patch = context;
	const ElfW(Dyn) *dynamic = find_dynamic(object);
	const ElfW(Rela) *data = NULL, *calls = NULL;
	size_t data_bytes = 0, calls_bytes = 0;
	struct symbols tables;

	if (!path_has(object, patch->part) || !find_tables(object, &tables))
		return 0;
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_RELA)
			data = dynamic_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_RELASZ)
			data_bytes = dynamic->d_un.d_val;
		else if (dynamic->d_tag == DT_JMPREL)
			calls = dynamic_pointer(object, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_PLTRELSZ)
			calls_bytes = dynamic->d_un.d_val;
	}
	patch_table(patch, object, &tables, data, data_bytes);
	patch_table(patch, object, &tables, calls, calls_bytes);
	return 0;
}

int loaded_patch(const char *part, const char *symbol, void *replacement)
{
	struct patch patch = { part, symbol, replacement, 0 };

	dl_iterate_phdr(patch_object, &patch);
	return patch.slots;
}

/* ---- Paths, bounds, build ids ---- */

struct path_search {
	const char *part;
	char *path;
	size_t size;
};

static int match_path(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct path_search *search = context;
	size_t length = object->dlpi_name ? strlen(object->dlpi_name) : 0;

	if (!length || length >= search->size || !strstr(object->dlpi_name, search->part))
		return 0;
	memcpy(search->path, object->dlpi_name, length + 1);
	return 1;
}

static int match_own(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct path_search *search = context;

	if (find_dynamic(object) != _DYNAMIC)
		return 0;
	search->part = "";
	return match_path(object, 0, search);
}

int loaded_own_path(char *path, size_t size)
{
	struct path_search search = { NULL, path, size };

	return dl_iterate_phdr(match_own, &search);
}

int loaded_path(const char *part, char *path, size_t size)
{
	struct path_search search = { part, path, size };

	return dl_iterate_phdr(match_path, &search);
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
