/* Native frames of this very program and of its libraries: the right name and line, or none. */
#include "base/demangle.h"
#include "base/symbol.h"
#include "base/symbol_index.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include "test.h"

struct self {
	uint64_t bias;
	unsigned char build_id[64];
	size_t build_id_size;
};

static volatile int sink;

/* The address of the inlined statement is taken from inside it. */
static inline __attribute__((always_inline)) void *probe_inner(void)
{
	void *here;
	/* clang-format off */
	sink++; __asm__ volatile("lea 0(%%rip), %0" : "=r"(here)); sink++; /* PROBE_LINE */
	/* clang-format on */
	return here;
}

__attribute__((noinline)) static void *probe_outer(void)
{
	void *here = probe_inner(); /* PROBE_CALL */

	sink++;
	return here;
}

static void read_note(struct self *self, const char *note, size_t size)
{
	const ElfW(Nhdr) * header;
	size_t used;

	while (size >= sizeof(*header)) {
		header = (const ElfW(Nhdr) *)note;
		used = sizeof(*header) + ((header->n_namesz + 3u) & ~3u) + ((header->n_descsz + 3u) & ~3u);
		if (used > size)
			return;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_descsz <= sizeof(self->build_id)) {
			memcpy(self->build_id, note + sizeof(*header) + ((header->n_namesz + 3u) & ~3u),
			       header->n_descsz);
			self->build_id_size = header->n_descsz;
		}
		note += used;
		size -= used;
	}
}

/* The first object is the program. */
static int read_self(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self *self = context;
	int i;

	(void)size;
	self->bias = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			read_note(self, (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
				  info->dlpi_phdr[i].p_memsz);
	return 1;
}

static struct self find_self(void)
{
	struct self self = { 0 };

	dl_iterate_phdr(read_self, &self);
	if (!self.build_id_size)
		SKIP("the linker puts no build-id into programs");
	return self;
}

static const char *self_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	CHECK(size > 0);
	path[size] = '\0';
	return path;
}

/* The number of the source line that has `mark` in it. */
static unsigned line_of(const char *mark)
{
	char line[512];
	unsigned number = 0, found = 0;
	FILE *file;

	/* The path is as the compiler was given it, from the top of the tree. */
	if (getenv("SRC"))
		CHECK(!chdir(getenv("SRC")));
	file = fopen(__FILE__, "r");
	if (!file)
		SKIP("the source is not where it was compiled");
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!found && strstr(line, mark) && strstr(line, "/*") && !strstr(line, "line_of"))
			found = number;
	}
	fclose(file);
	return found;
}

TEST(names_and_lines_of_inlined_code)
{
	struct self self = find_self();
	struct symbols *symbols = symbols_new();
	struct symbol found[8];
	uint64_t offset = (uint64_t)(uintptr_t)probe_outer() - self.bias - 1;
	size_t count = symbols_find(symbols, self_path(), self.build_id, self.build_id_size, offset, found, 8);

	CHECK_EQ(count, 2);
	CHECK_STR(found[0].function, "probe_inner");
	CHECK_EQ(found[0].line, line_of("PROBE_LINE */"));
	CHECK(strstr(found[0].file, "test_symbol.c"));
	CHECK_STR(found[1].function, "probe_outer");
	CHECK_EQ(found[1].line, line_of("PROBE_CALL */"));
	symbols_free(symbols);
}

TEST(asking_again_gives_the_same)
{
	struct self self = find_self();
	struct symbols *symbols = symbols_new();
	struct symbol first[8], second[8];
	uint64_t offset = (uint64_t)(uintptr_t)probe_outer() - self.bias - 1, i;

	CHECK_EQ(symbols_find(symbols, self_path(), self.build_id, self.build_id_size, offset, first, 8), 2);
	for (i = 0; i < 2000; i++)
		symbols_find(symbols, self_path(), self.build_id, self.build_id_size, i * 16, second, 8);
	CHECK_EQ(symbols_find(symbols, self_path(), self.build_id, self.build_id_size, offset, second, 8), 2);
	CHECK(first[0].function == second[0].function && first[1].file == second[1].file);
	CHECK_EQ(symbols_find(symbols, self_path(), self.build_id, self.build_id_size, offset, second, 1), 1);
	symbols_free(symbols);
}

TEST(another_build_has_no_names)
{
	struct self self = find_self();
	struct symbols *symbols = symbols_new();
	struct symbol found[8];
	uint64_t offset = (uint64_t)(uintptr_t)probe_outer() - self.bias - 1;

	CHECK_EQ(symbols_find(symbols, self_path(), self.build_id, self.build_id_size - 1, offset, found, 8), 0);
	CHECK_EQ(symbols_find(symbols, self_path(), NULL, 0, offset, found, 8), 0);
	self.build_id[0] ^= 1;
	CHECK_EQ(symbols_find(symbols, self_path(), self.build_id, self.build_id_size, offset, found, 8), 0);
	symbols_free(symbols);
}

TEST(what_is_no_elf_file_has_no_names)
{
	struct symbols *symbols = symbols_new();
	struct symbol found[8];
	const char *paths[] = { "/nonexistent", "", "/dev/zero", "/", __FILE__ };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		CHECK_EQ(symbols_find(symbols, paths[i], "1234", 4, 0x1000, found, 8), 0);
	symbols_free(symbols);
}

/* ---- the symbol table ---- */

/* Functions in functions, two names of one function, and labels without a size. */
__asm__(".pushsection .text\n"
	".globl symbols_outer, symbols_alias, symbols_label, symbols_tail\n"
	".weak symbols_weak\n"
	".type symbols_outer, @function\n.type symbols_alias, @function\n.type symbols_weak, @function\n"
	".type symbols_local, @function\n"
	"symbols_label: .skip 16, 0x90\n"
	"symbols_outer: .skip 8, 0x90\n"
	"symbols_weak: symbols_alias: symbols_local: .skip 16, 0x90\n"
	".size symbols_weak, 16\n.size symbols_alias, 16\n.size symbols_local, 8\n"
	"symbols_end: .skip 8, 0x90\n"
	".size symbols_outer, 32\n"
	"symbols_tail: symbols_local_tail: .skip 16, 0x90\n"
	".popsection\n");
extern const char symbols_label[] __attribute__((visibility("hidden")));

static unsigned long symbols_read, walks;

/* In place of the functions of libdw, for symbol.c as well: what is asked of libdw is counted. */
const char *dwfl_module_getsym_info(Dwfl_Module *module, int number, GElf_Sym *symbol, GElf_Addr *address,
				    GElf_Word *section, Elf **elf, Dwarf_Addr *bias)
{
	static __typeof__(dwfl_module_getsym_info) *original;

	if (!original)
		*(void **)&original = dlsym(RTLD_NEXT, "dwfl_module_getsym_info");
	symbols_read++;
	return original(module, number, symbol, address, section, elf, bias);
}

const char *dwfl_module_addrinfo(Dwfl_Module *module, GElf_Addr address, GElf_Off *offset, GElf_Sym *symbol,
				 GElf_Word *section, Elf **elf, Dwarf_Addr *bias)
{
	static __typeof__(dwfl_module_addrinfo) *original;

	if (!original)
		*(void **)&original = dlsym(RTLD_NEXT, "dwfl_module_addrinfo");
	walks++;
	return original(module, address, offset, symbol, section, elf, bias);
}

struct object {
	struct self self;
	const char *path;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias, size;
};

static struct object open_object(const char *path)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo,
						  .section_address = dwfl_offline_section_address };
	struct object object = { .path = path, .dwfl = dwfl_begin(&callbacks) };
	const unsigned char *build_id = NULL;
	GElf_Addr address, start, end;
	int size;

	object.module = dwfl_report_offline(object.dwfl, "", path, -1);
	CHECK(object.module && !dwfl_report_end(object.dwfl, NULL, NULL));
	CHECK(dwfl_module_getelf(object.module, &object.bias));
	CHECK(dwfl_module_info(object.module, NULL, &start, &end, NULL, NULL, NULL, NULL));
	object.size = end - start;
	size = dwfl_module_build_id(object.module, &build_id, &address);
	if (size <= 0)
		SKIP("a library has no build-id");
	object.self.build_id_size = (size_t)size;
	CHECK(object.self.build_id_size <= sizeof(object.self.build_id));
	memcpy(object.self.build_id, build_id, object.self.build_id_size);
	return object;
}

/* elfutils' own name of the address is the right one, wherever no debug information says more. 1: a symbol named it. */
static int check_name(struct symbols *symbols, const struct object *object, uint64_t offset)
{
	struct symbol found[8];
	size_t count = symbols_find(symbols, object->path, object->self.build_id, object->self.build_id_size, offset,
				    found, 8);
	GElf_Off from_start;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(object->module, offset + object->bias, &from_start, &symbol, NULL, NULL,
						NULL);
	char *plain = name ? demangle(name) : NULL;

	if (count && found[0].line)
		return 0;
	CHECK_EQ(count, name != NULL);
	if (name)
		CHECK_STR(found[0].function, plain ? plain : name);
	free(plain);
	return name != NULL;
}

static const char *path_of(const void *code)
{
	Dl_info info;

	CHECK(dladdr(code, &info));
	return info.dli_fname;
}

TEST(symbols_name_what_elfutils_names)
{
	const void *code[] = { (const void *)&printf, (const void *)&dwfl_begin, (const void *)&elf_version };
	struct symbols *symbols = symbols_new();
	struct object object;
	uint64_t offset;
	size_t i, named;

	for (i = 0; i < sizeof(code) / sizeof(*code); i++) {
		object = open_object(path_of(code[i]));
		for (offset = named = 0; offset < object.size; offset += object.size / 300)
			named += (size_t)check_name(symbols, &object, offset);
		CHECK(named > 20);
		dwfl_end(object.dwfl);
	}
	object = open_object(self_path());
	object.self.bias = find_self().bias;
	for (i = named = 0; i < 64 + 16; i++)
		named += (size_t)check_name(symbols, &object, (uintptr_t)symbols_label + i - object.self.bias);
	CHECK(named > 60);
	dwfl_end(object.dwfl);
	symbols_free(symbols);
}

TEST(a_symbol_is_read_once_for_all_addresses)
{
	struct symbols *symbols = symbols_new();
	struct object object = open_object(path_of((const void *)&printf));
	unsigned long count = (unsigned long)dwfl_module_getsymtab(object.module);
	struct symbol found[8];
	uint64_t offset;

	symbols_read = walks = 0;
	for (offset = 0; offset < object.size; offset += object.size / 999)
		symbols_find(symbols, object.path, object.self.build_id, object.self.build_id_size, offset, found, 8);
	CHECK_EQ(walks, 0);
	CHECK(symbols_read > 100);
	CHECK(symbols_read <= count + 1000);
	symbols_free(symbols);
	dwfl_end(object.dwfl);
}

/* A file in which one function is around all others, many of which are in each other; the last one is the first symbol. */
TEST(an_address_costs_no_walk_over_the_symbols)
{
	struct symbol_index index = { .count = 100000, .first_global = 1 };
	uint64_t start;
	uint32_t i;

	index.span = calloc(index.count, sizeof(*index.span));
	CHECK(index.span != NULL);
	for (i = 0; i < index.count; i++) {
		start = (index.count - 1 - i) * 16;
		index.span[i].number = i + 1;
		index.span[i].start = start;
		index.span[i].end = start ? start + 8 + (i % 7 ? 0 : 64) : UINT64_MAX;
	}
	CHECK_EQ(symbol_index_build(&index), 0);
	for (i = 0; i < index.count - 1; i++)
		CHECK_EQ(symbol_index_find(&index, (index.count - 1 - i) * 16, 1), i + 1);
	CHECK(index.looked_at / index.count < 100);
	symbol_index_release(&index);
}

/* ---- the rule of elfutils, on each symbol in turn ---- */

struct walk {
	const struct symbol_span *best, *label;
	uint64_t lowest; /* start of a label */
};

static void walk_step(struct walk *walk, const struct symbol_span *span, uint64_t address, uint32_t section)
{
	const struct symbol_span *best = walk->best;
	int is_label = span->end == span->start;

	if (span->start > address)
		return;
	if (span->end > walk->lowest)
		walk->lowest = span->end;
	if (!is_label && span->end <= address)
		return;
	if (is_label) {
		if (!best && span->start >= walk->lowest && (span->start == address || span->section == section))
			walk->label = span;
	} else if (!best || best->start < span->start || best->rank < span->rank ||
		   (best->start == span->start && best->rank == span->rank && best->end > span->end)) {
		walk->best = span;
	}
}

static uint32_t walk_all(const struct symbol_span *span, size_t count, uint32_t first_global, uint64_t address,
			 uint32_t section)
{
	struct walk walk = { 0 };
	size_t i;

	for (i = first_global - 1; i < count; i++)
		walk_step(&walk, &span[i], address, section);
	if (!walk.best && (!walk.label || walk.label->start != address))
		for (i = 0; i < count && i < first_global - 1; i++)
			walk_step(&walk, &span[i], address, section);
	if (walk.best)
		return walk.best->number;
	return walk.label && walk.label->start >= walk.lowest ? walk.label->number : 0;
}

#define ADDRESSES 48

static void make_spans(struct symbol_span *span, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		span[i].number = (uint32_t)i + 1;
		span[i].start = (uint64_t)rand() % ADDRESSES;
		span[i].end = span[i].start + (uint64_t)(rand() % 3 ? rand() % 16 : 0);
		span[i].rank = (unsigned)rand() % 4;
		span[i].section = rand() % 8 ? (unsigned)rand() % 3 : SYMBOL_ABSOLUTE;
	}
}

TEST(the_index_and_the_walk_agree)
{
	struct symbol_span span[24];
	struct symbol_index index;
	uint64_t address;
	uint32_t i, named = 0, found;

	srand(1);
	for (i = 0; i < 4000; i++) {
		memset(span, 0, sizeof(span));
		index = (struct symbol_index){ .count = (size_t)rand() % 25, .first_global = 1 + (unsigned)rand() % 8 };
		make_spans(span, index.count);
		index.span = malloc(sizeof(span));
		CHECK(index.span != NULL);
		memcpy(index.span, span, sizeof(span));
		CHECK_EQ(symbol_index_build(&index), 0);
		for (address = 0; address < ADDRESSES + 16; address++) {
			found = symbol_index_find(&index, address, (uint32_t)(address / 16 % 3));
			CHECK_EQ(found, walk_all(span, index.count, index.first_global, address,
						 (uint32_t)(address / 16 % 3)));
			named += found != 0;
		}
		symbol_index_release(&index);
	}
	CHECK(named > 4000 && named < 4000 * ADDRESSES);
}

/* A pair of pairs of pairs: `levels` of them double the name as often, and the symbol grows by eight bytes. */
static void pairs(char *symbol, size_t room, unsigned levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = (size_t)snprintf(symbol, room, "_Z1fSt4pairIiiE");
	unsigned i;

	for (i = 0; i < levels; i++)
		at += (size_t)snprintf(symbol + at, room - at, "S_IS%c_S%c_E", digits[i], digits[i]);
}

TEST(a_name_out_of_proportion_is_none)
{
	char symbol[512], *name;
	unsigned levels;

	for (levels = 0; levels <= 36; levels++) {
		pairs(symbol, sizeof(symbol), levels);
		name = demangle(symbol);
		CHECK(!name || (levels < 12 && strlen(name) < 32 * strlen(symbol)));
		CHECK(name || levels > 3);
		free(name);
	}
}

TEST(names_are_those_of_cxx)
{
	char *name = demangle("_ZN2at6native4copyERNS_6TensorERKS1_b");

	CHECK_STR(name, "at::native::copy(at::Tensor&, at::Tensor const&, bool)");
	free(name);
	CHECK(!demangle("rl_step") && !demangle("") && !demangle("_Z") && !demangle("_ZN2at"));
}

TEST_MAIN()
