/* Native frames of this very program: the right name and line, or none. */
#include "base/demangle.h"
#include "base/symbol.h"

#include <dlfcn.h>
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
