/* loaded.c - symbols, bounds and build ids of the loaded objects, by dl_iterate_phdr alone. */
#include "loaded.h"

#include <elf.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/defs.h"

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

/* The loader relocates the dynamic section of ordinary objects in place, that of the vdso it leaves alone. */
static const void *dynamic_pointer(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static int find_tables(const struct dl_phdr_info *object, struct symbols *tables)
{
	const ElfW(Dyn) *dynamic = NULL;
	int i;

	memset(tables, 0, sizeof(*tables));
	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
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

static int search_object(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	struct search *search = context;
	struct symbols tables;
	const ElfW(Sym) *symbol;

	if (search->part && (!object->dlpi_name || !strstr(object->dlpi_name, search->part)))
		return 0;
	if (!find_tables(object, &tables))
		return 0;
	symbol = look_up(&tables, search->name);
	if (!symbol || loaded_is_ours(object->dlpi_addr + symbol->st_value))
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
