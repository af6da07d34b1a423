#include "symbol.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "demangle.h"
#include "symbol_index.h"

#define FIRST_SLOTS 256u
#define SYMBOLS_MAX (8 << 20) /* number of symbols: an index of more would need over 256 MiB */
#define LEVELS_MAX 8u         /* largest number of functions inlined into each other at one address */

struct elf_file {
	struct elf_file *next;
	char *path;
	void *build_id;
	size_t build_id_size;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: the file is missing, or is of another build */
	GElf_Addr bias;
	struct symbol_index *index; /* made at the first question for a symbol */
};

/* The names of one address, looked up once. */
struct place {
	struct elf_file *file; /* NULL: the slot is free */
	uint64_t offset;
	size_t count;
	struct symbol level[LEVELS_MAX];
};

struct text_node {
	struct text_node *next;
	char text[];
};

struct symbols {
	struct elf_file *files;
	struct place **slot; /* hash table of places */
	uint32_t slots, places;
	struct text_node *texts;
};

struct symbols *symbols_new(void)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->slots = FIRST_SLOTS;
	symbols->slot = calloc(symbols->slots, sizeof(*symbols->slot));
	if (!symbols->slot) {
		free(symbols);
		return NULL;
	}
	/* With these servers, elfutils would ask for missing files and reveal the analysed programs. */
	unsetenv("DEBUGINFOD_URLS");
	return symbols;
}

static void free_file(struct elf_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	if (file->index)
		symbol_index_release(file->index);
	free(file->index);
	free(file->build_id);
	free(file->path);
	free(file);
}

void symbols_free(struct symbols *symbols)
{
	struct elf_file *file;
	struct text_node *text;
	uint32_t i;

	if (!symbols)
		return;
	while ((file = symbols->files)) {
		symbols->files = file->next;
		free_file(file);
	}
	while ((text = symbols->texts)) {
		symbols->texts = text->next;
		free(text);
	}
	for (i = 0; i < symbols->slots; i++)
		free(symbols->slot[i]);
	free(symbols->slot);
	free(symbols);
}

/* Returns a copy that lives as long as `symbols`; "" if memory runs out. */
static const char *keep(struct symbols *symbols, const char *text)
{
	size_t size = strlen(text) + 1;
	struct text_node *node = malloc(sizeof(*node) + size);

	if (!node)
		return "";
	memcpy(node->text, text, size);
	node->next = symbols->texts;
	symbols->texts = node;
	return node->text;
}

static const char *keep_name(struct symbols *symbols, const char *name)
{
	char *plain = demangle(name);
	const char *kept = keep(symbols, plain ? plain : name);

	free(plain);
	return kept;
}

/* ---- files ---- */

static int open_regular(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -1;
}

static int is_build(Dwfl_Module *module, const void *build_id, size_t size)
{
	const unsigned char *found = NULL;
	GElf_Addr address;
	int found_size = dwfl_module_build_id(module, &found, &address);

	return found_size > 0 && (size_t)found_size == size && !memcmp(found, build_id, size);
}

static void load(struct elf_file *file)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl_Module *module;
	int fd = open_regular(file->path);

	if (fd < 0)
		return;
	file->dwfl = dwfl_begin(&callbacks);
	module = file->dwfl ? dwfl_report_offline(file->dwfl, "", file->path, fd) : NULL;
	if (!module) {
		close(fd);
		return;
	}
	dwfl_report_end(file->dwfl, NULL, NULL);
	if (dwfl_module_getelf(module, &file->bias) && is_build(module, file->build_id, file->build_id_size))
		file->module = module;
}

/* Returns the file, opened at its first use. NULL: out of memory. */
static struct elf_file *find_file(struct symbols *symbols, const char *path, const void *build_id, size_t size)
{
	struct elf_file *file;

	for (file = symbols->files; file; file = file->next)
		if (file->build_id_size == size && !memcmp(file->build_id, build_id, size) && !strcmp(file->path, path))
			return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->path = strdup(path);
	file->build_id = malloc(size + 1);
	if (!file->path || !file->build_id) {
		free_file(file);
		return NULL;
	}
	memcpy(file->build_id, build_id, size);
	file->build_id_size = size;
	file->next = symbols->files;
	symbols->files = file;
	load(file);
	return file;
}

/* ---- the symbol table ---- */

static uint32_t section_of(Dwfl_Module *module, GElf_Addr address)
{
	Dwarf_Addr bias;
	Elf_Scn *section = dwfl_module_address_section(module, &address, &bias);
	size_t number = section ? elf_ndxscn(section) : SHN_UNDEF;

	return number < SYMBOL_ABSOLUTE ? (uint32_t)number : SHN_UNDEF;
}

static unsigned rank_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return 3;
	case STB_WEAK:
		return 2;
	case STB_LOCAL:
		return 1;
	default:
		return 0;
	}
}

static int names_code(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_name && symbol->st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE &&
	       type != STT_TLS;
}

/* Reads a symbol without its name: names are most of a file's bytes, and few are needed. */
static int read_span(Dwfl_Module *module, int number, struct symbol_span *span)
{
	GElf_Word section;
	GElf_Addr start;
	GElf_Sym symbol;

	if (!dwfl_module_getsym_info(module, number, &symbol, &start, &section, NULL, NULL) || !names_code(&symbol))
		return 0;
	span->start = start;
	span->end = symbol.st_size < UINT64_MAX - start ? start + symbol.st_size : UINT64_MAX;
	span->number = (uint32_t)number;
	span->rank = rank_of(&symbol) & 3u;
	span->section = SYMBOL_ABSOLUTE;
	if (!symbol.st_size && section < SHN_LORESERVE)
		span->section = section_of(module, start) & SYMBOL_ABSOLUTE;
	return 1;
}

/* NULL: no symbols, too many symbols, or out of memory. */
static struct symbol_index *make_index(Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module), first = dwfl_module_getsymtab_first_global(module), i;
	struct symbol_index *index = count > 0 && count <= SYMBOLS_MAX ? calloc(1, sizeof(*index)) : NULL;

	if (!index)
		return NULL;
	index->span = malloc((size_t)count * sizeof(*index->span));
	index->first_global = first > 0 ? (uint32_t)first : 0;
	for (i = 1; index->span && i < count; i++)
		index->count += (size_t)read_span(module, i, &index->span[index->count]);
	if (index->span && !symbol_index_build(index))
		return index;
	symbol_index_release(index);
	free(index);
	return NULL;
}

/* Searches as elfutils does, in all symbols of the file. */
static const char *walk_symbols(Dwfl_Module *module, GElf_Addr address)
{
	GElf_Off from_start;
	GElf_Sym symbol;

	return dwfl_module_addrinfo(module, address, &from_start, &symbol, NULL, NULL, NULL);
}

/* Returns the name of the symbol around the address; NULL: no symbol. */
static const char *find_symbol(struct elf_file *file, GElf_Addr address)
{
	uint32_t section = section_of(file->module, address), number;
	GElf_Addr start;
	GElf_Sym symbol;
	const char *name;

	if (!file->index)
		file->index = make_index(file->module);
	if (!file->index)
		return walk_symbols(file->module, address);
	number = symbol_index_find(file->index, address, section);
	name = number ? dwfl_module_getsym_info(file->module, (int)number, &symbol, &start, NULL, NULL, NULL) : NULL;
	if (!name || !*name)
		return NULL;
	/* elfutils decides about a label without a known section. In a damaged file, such a label names nothing. */
	return symbol.st_size || section ? name : walk_symbols(file->module, address);
}

/* ---- one address ---- */

static void find_line(struct symbols *symbols, const struct elf_file *file, uint64_t address, struct symbol *found)
{
	Dwfl_Line *line = dwfl_module_getsrc(file->module, address);
	int number = 0;
	const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;

	if (!source)
		return;
	found->file = keep(symbols, source);
	found->line = number > 0 ? (unsigned)number : 0;
}

static int is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute)) {
		name = dwarf_formstring(&attribute);
		if (name)
			return name;
	}
	return dwarf_diename(die);
}

/* Finds the place that calls the inlined function `die`. */
static void find_call(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Die *die, struct symbol *caller)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	const char *name;
	size_t count;

	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &number))
		caller->line = (unsigned)number;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) ||
	    dwarf_getsrcfiles(unit, &files, &count))
		return;
	name = number < count ? dwarf_filesrc(files, number, NULL, NULL) : NULL;
	if (name)
		caller->file = keep(symbols, name);
}

/* Finds the functions around the address by debug information, innermost first. */
static size_t find_scopes(struct symbols *symbols, const struct elf_file *file, uint64_t address, struct symbol *level)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(file->module, address, &bias), *scopes = NULL, *outwards = NULL;
	size_t count = 0;
	int i, scope_count;
	const char *name;

	if (!unit || dwarf_getscopes(unit, address - bias, &scopes) <= 0)
		return 0;
	/* Follows the nesting of the code. dwarf_getscopes would follow the source of an inlined function. */
	scope_count = dwarf_getscopes_die(&scopes[0], &outwards);
	for (i = 0; i < scope_count && count < LEVELS_MAX; i++) {
		if (!is_function(&outwards[i]))
			continue;
		name = function_name(&outwards[i]);
		level[count].function = name ? keep_name(symbols, name) : "";
		count++;
		if (dwarf_tag(&outwards[i]) != DW_TAG_inlined_subroutine)
			break;
		if (count < LEVELS_MAX)
			find_call(symbols, unit, &outwards[i], &level[count]);
	}
	free(scopes);
	free(outwards);
	return count;
}

static void look_up(struct symbols *symbols, struct place *place)
{
	struct elf_file *file = place->file;
	uint64_t address = place->offset + file->bias;
	const char *name;
	size_t i;

	for (i = 0; i < LEVELS_MAX; i++)
		place->level[i].function = place->level[i].file = "";
	if (!file->module)
		return;
	find_line(symbols, file, address, &place->level[0]);
	place->count = find_scopes(symbols, file, address, place->level);
	if (place->count)
		return;
	name = find_symbol(file, address);
	if (name)
		place->level[0].function = keep_name(symbols, name);
	place->count = name || place->level[0].line;
}

static struct place **find_slot(const struct symbols *symbols, const struct elf_file *file, uint64_t offset)
{
	uint64_t hash = ((uintptr_t)file >> 4 ^ offset) * 0x9e3779b97f4a7c15ull;
	uint32_t mask = symbols->slots - 1, at = (uint32_t)(hash >> 32) & mask;

	while (symbols->slot[at] && (symbols->slot[at]->file != file || symbols->slot[at]->offset != offset))
		at = (at + 1) & mask;
	return &symbols->slot[at];
}

static int grow_slots(struct symbols *symbols)
{
	struct place **old = symbols->slot;
	uint32_t slots = symbols->slots, i;

	symbols->slot = calloc((size_t)slots * 2, sizeof(*symbols->slot));
	if (!symbols->slot) {
		symbols->slot = old;
		return -1;
	}
	symbols->slots = slots * 2;
	for (i = 0; i < slots; i++)
		if (old[i])
			*find_slot(symbols, old[i]->file, old[i]->offset) = old[i];
	free(old);
	return 0;
}

size_t symbols_find(struct symbols *symbols, const char *path, const void *build_id, size_t build_id_size,
		    uint64_t offset, struct symbol *found, size_t max)
{
	struct elf_file *file = build_id_size ? find_file(symbols, path, build_id, build_id_size) : NULL;
	struct place **slot;
	size_t count;

	if (!file || (symbols->places * 2 >= symbols->slots && grow_slots(symbols)))
		return 0;
	slot = find_slot(symbols, file, offset);
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return 0;
		(*slot)->file = file;
		(*slot)->offset = offset;
		symbols->places++;
		look_up(symbols, *slot);
	}
	count = (*slot)->count < max ? (*slot)->count : max;
	memcpy(found, (*slot)->level, count * sizeof(*found));
	return count;
}
