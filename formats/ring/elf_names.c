/*
 * elf_names.c - reads an ELF file with pread: headers, the build id, then each symbol table once.
 *
 *     wanted addresses       x    x      x  x            in ascending order
 *     symbols         [-----------------)                candidates: those around the first wanted address behind their start
 *                        [---)  [----)                   nested ones occur in assembly; the innermost one counts
 *
 * A table costs its bytes and one binary search for each symbol. Only candidates are kept.
 */
#include "elf_names.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/copy.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"

#define SEGMENTS_MAX 1024u
#define SECTIONS_MAX 16384u
#define NOTES_MAX (64u << 10)     /* bytes of one note segment */
#define CANDIDATES_MAX (1u << 20) /* symbols around wanted addresses */
#define BLOCK_SYMBOLS 2048u       /* read at a time */
#define BUILD_ID_NAME "GNU"

struct elf_file {
	int fd;
	uint64_t size;
	uint64_t deadline;
	Elf64_Ehdr header;
};

/* A symbol table and its table of names. */
struct symbol_table {
	uint64_t offset, symbols;
	uint64_t names_offset, names_size;
};

struct candidate {
	uint64_t start, end;
	uint32_t name; /* offset into the table's names */
	uint32_t rank; /* the highest counts among symbols with the same bytes */
};

struct candidates {
	struct candidate *item;
	size_t count, room;
};

static int is_late(const struct elf_file *file)
{
	return mt_wait_clock_ns() >= file->deadline;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* 1: the file has `size` bytes at `offset`. */
static int has(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

static int read_part(const struct elf_file *file, void *data, uint64_t size, uint64_t offset)
{
	return has(file, offset, size) ? mt_read_at(file->fd, data, size, offset) : -MT_E_TRUNCATED;
}

/* Checks the type before the opening, because opening a device or a FIFO can have effects. */
static int open_regular(const char *path, uint64_t *size)
{
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

/* 1: a 64-bit file in this machine's byte order, with tables as in <elf.h>. */
static int is_readable(const Elf64_Ehdr *header)
{
	const uint16_t one = 1;
	uint8_t order = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;

	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == order && header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_shentsize == sizeof(Elf64_Shdr) && header->e_phnum <= SEGMENTS_MAX &&
	       header->e_shnum <= SECTIONS_MAX;
}

/* ---- the build id ------------------------------------------------------------------------------------------------ */

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static int notes_have(const uint8_t *note, size_t left, const uint8_t *build_id, size_t size)
{
	while (left >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		size_t name, contents;

		memcpy(&header, note, sizeof(header));
		name = padded(header.n_namesz);
		contents = padded(header.n_descsz);
		note += sizeof(header);
		left -= sizeof(header);
		if (name > left || contents > left - name)
			return 0;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(BUILD_ID_NAME) &&
		    !memcmp(note, BUILD_ID_NAME, sizeof(BUILD_ID_NAME)))
			return header.n_descsz == size && !memcmp(note + name, build_id, size);
		note += name + contents;
		left -= name + contents;
	}
	return 0;
}

static int segment_has(const struct elf_file *file, const Elf64_Phdr *segment, const uint8_t *build_id, size_t size)
{
	uint8_t *notes;
	int is;

	if (segment->p_type != PT_NOTE || segment->p_filesz > NOTES_MAX)
		return 0;
	notes = malloc(segment->p_filesz + 1);
	is = notes && !read_part(file, notes, segment->p_filesz, segment->p_offset) &&
	     notes_have(notes, segment->p_filesz, build_id, size);
	free(notes);
	return is;
}

static int is_build(const struct elf_file *file, const uint8_t *build_id, size_t size)
{
	Elf64_Phdr segment;
	uint32_t i;

	for (i = 0; i < file->header.e_phnum; i++)
		if (!read_part(file, &segment, sizeof(segment), file->header.e_phoff + i * sizeof(segment)) &&
		    segment_has(file, &segment, build_id, size))
			return 1;
	return 0;
}

static int open_build(struct elf_file *file, const char *path, const uint8_t *build_id, size_t size)
{
	file->fd = size ? open_regular(path, &file->size) : -1;
	if (file->fd < 0)
		return 0;
	if (!read_part(file, &file->header, sizeof(file->header), 0) && is_readable(&file->header) &&
	    is_build(file, build_id, size))
		return 1;
	close(file->fd);
	return 0;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* Returns the index of the first wanted address at `start` or behind; `count`: none. */
static size_t first_from(const struct elf_name *wanted, size_t count, uint64_t start)
{
	size_t low = 0, high = count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (wanted[middle].offset < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_candidate(struct candidates *list, const struct candidate *candidate)
{
	if (list->count == CANDIDATES_MAX)
		return -MT_E_LIMIT;
	if (MT_ARRAY_ROOM(list->item, list->count, list->room))
		return -MT_E_MEMORY;
	list->item[list->count++] = *candidate;
	return 0;
}

static uint32_t rank_of(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

/* A symbol without a size has no known end, so it names no address. */
static int is_function(const Elf64_Sym *symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF && symbol->st_size &&
	       symbol->st_size <= UINT64_MAX - symbol->st_value;
}

static int look_at(const Elf64_Sym *symbol, const struct elf_name *wanted, size_t count, struct candidates *list)
{
	const struct candidate candidate = { symbol->st_value, symbol->st_value + symbol->st_size, symbol->st_name,
					     rank_of(symbol) };
	size_t first;

	if (!is_function(symbol))
		return 0;
	first = first_from(wanted, count, symbol->st_value);
	if (first == count || wanted[first].offset >= candidate.end)
		return 0;
	return add_candidate(list, &candidate);
}

static int find_candidates(const struct elf_file *file, const struct symbol_table *table, const struct elf_name *wanted,
			   size_t count, struct candidates *list)
{
	Elf64_Sym *block = calloc(BLOCK_SYMBOLS, sizeof(*block));
	uint64_t at = 0, some, i;
	int error = block ? 0 : -MT_E_MEMORY;

	for (; !error && at < table->symbols && !is_late(file); at += some) {
		some = table->symbols - at < BLOCK_SYMBOLS ? table->symbols - at : BLOCK_SYMBOLS;
		error = read_part(file, block, some * sizeof(*block), table->offset + at * sizeof(*block));
		for (i = 0; i < some && !error; i++)
			error = look_at(&block[i], wanted, count, list);
	}
	free(block);
	return error || at < table->symbols ? -MT_E_LIMIT : 0;
}

/* Outer symbols first; among equal ones the best one last. */
static int by_start(const void *a, const void *b)
{
	const struct candidate *one = a, *two = b;

	if (one->start != two->start)
		return one->start < two->start ? -1 : 1;
	if (one->end != two->end)
		return one->end > two->end ? -1 : 1;
	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	return (one->name < two->name) - (one->name > two->name);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Reads a name into `name`, which has ELF_NAME_MAX + 1 bytes. 0: a valid name. */
static int read_name(const struct elf_file *file, const struct symbol_table *table, uint32_t at, char *name)
{
	uint64_t size;

	if (at >= table->names_size)
		return -MT_E_CORRUPT;
	size = table->names_size - at < ELF_NAME_MAX + 1 ? table->names_size - at : ELF_NAME_MAX + 1;
	if (read_part(file, name, size, table->names_offset + at))
		return -MT_E_CORRUPT;
	return *name && memchr(name, '\0', size) ? 0 : -MT_E_CORRUPT;
}

struct naming {
	const struct elf_file *file;
	const struct symbol_table *table;
	elf_name_taker *take;
	void *context;
	size_t named;
	uint32_t at; /* offset of `name` in the table's names; 0: none yet */
	char name[ELF_NAME_MAX + 1];
};

static int give_name(struct naming *naming, struct elf_name *wanted, const struct candidate *around)
{
	if (naming->at != around->name || !naming->at) {
		naming->at = 0;
		if (read_name(naming->file, naming->table, around->name, naming->name))
			return 0;
		naming->at = around->name;
	}
	wanted->unnamed = 0;
	naming->named++;
	return naming->take(naming->context, wanted, naming->name);
}

/*
 * Walks addresses and candidates side by side. The candidates around the current address form a stack, which overwrites
 * the part of the list that was read.
 */
static int sweep(struct naming *naming, struct elf_name *wanted, size_t count, struct candidates *list)
{
	size_t i, next = 0, open = 0;
	int error = 0;

	for (i = 0; i < count && !error && !is_late(naming->file); i++) {
		while (next < list->count && list->item[next].start <= wanted[i].offset)
			list->item[open++] = list->item[next++];
		while (open && list->item[open - 1].end <= wanted[i].offset)
			open--;
		if (open && wanted[i].unnamed)
			error = give_name(naming, &wanted[i], &list->item[open - 1]);
	}
	return error;
}

static int name_by_table(struct naming *naming, struct elf_name *wanted, size_t count)
{
	struct candidates list = { 0 };
	int error = find_candidates(naming->file, naming->table, wanted, count, &list);

	naming->at = 0;
	if (!error && list.count) {
		qsort(list.item, list.count, sizeof(*list.item), by_start);
		error = sweep(naming, wanted, count, &list);
	}
	free(list.item);
	return error;
}

/* Finds the table of names: the section that the symbol table's section links to. */
static int find_table(const struct elf_file *file, const Elf64_Shdr *section, struct symbol_table *table)
{
	Elf64_Shdr names;

	if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= file->header.e_shnum ||
	    read_part(file, &names, sizeof(names), file->header.e_shoff + section->sh_link * sizeof(names)) ||
	    !has(file, section->sh_offset, section->sh_size) || !has(file, names.sh_offset, names.sh_size))
		return -MT_E_CORRUPT;
	*table = (struct symbol_table){ section->sh_offset, section->sh_size / sizeof(Elf64_Sym), names.sh_offset,
					names.sh_size };
	return 0;
}

/* Uses the first symbol table of this type. */
static int name_by_type(struct naming *naming, uint32_t type, struct elf_name *wanted, size_t count)
{
	const struct elf_file *file = naming->file;
	struct symbol_table table;
	Elf64_Shdr section;
	uint32_t i;
	int error;

	for (i = 0; i < file->header.e_shnum; i++) {
		if (read_part(file, &section, sizeof(section), file->header.e_shoff + i * sizeof(section)))
			return -MT_E_CORRUPT;
		if (section.sh_type != type)
			continue;
		if (find_table(file, &section, &table))
			return 0;
		naming->table = &table;
		error = name_by_table(naming, wanted, count);
		naming->table = NULL;
		return error;
	}
	return 0;
}

size_t elf_names_find(const char *path, const uint8_t *build_id, size_t build_id_size, struct elf_name *wanted,
		      size_t count, uint64_t deadline, elf_name_taker *take, void *context)
{
	struct elf_file file = { .deadline = deadline };
	struct naming *naming;
	size_t named = 0;

	if (!count || is_late(&file) || !open_build(&file, path, build_id, build_id_size))
		return 0;
	naming = calloc(1, sizeof(*naming));
	if (naming) {
		*naming = (struct naming){ .file = &file, .take = take, .context = context };
		/* The full table has all symbols. A stripped file has only the dynamic table. */
		if (!name_by_type(naming, SHT_SYMTAB, wanted, count) && naming->named < count)
			name_by_type(naming, SHT_DYNSYM, wanted, count);
		named = naming->named;
	}
	free(naming);
	close(file.fd);
	return named;
}
