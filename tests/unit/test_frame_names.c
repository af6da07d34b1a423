/* test_frame_names.c - names of native frames out of symbol tables: made-up ELF files, good and bad ones. */
#include <elf.h>
#include <sys/stat.h>
#include "memtrace/clock.h"
#include "ring/elf_names.h"
#include "ring/frame_names.h"
#include "trace_kit.h"

#define SYMBOLS_MAX 16u
#define NAMES_BYTES 16384u
#define FOR_EVER UINT64_MAX

/* A file with a build id, one symbol table, and the table's names. */
struct made {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t build_id[20];
	} note;
	Elf64_Shdr section[3];
	Elf64_Sym symbol[SYMBOLS_MAX];
	char names[NAMES_BYTES];
	uint32_t names_used, symbols;
};

static struct made *make(uint32_t type)
{
	struct made *made = calloc(1, sizeof(*made));

	made->header = (Elf64_Ehdr){ .e_type = ET_DYN,
				     .e_phoff = offsetof(struct made, segment),
				     .e_shoff = offsetof(struct made, section),
				     .e_phentsize = sizeof(Elf64_Phdr),
				     .e_phnum = 1,
				     .e_shentsize = sizeof(Elf64_Shdr),
				     .e_shnum = 3 };
	memcpy(made->header.e_ident, "\177ELF\2\1\1", 7);
	made->segment = (Elf64_Phdr){ .p_type = PT_NOTE,
				      .p_offset = offsetof(struct made, note),
				      .p_filesz = sizeof(made->note) };
	made->note.header = (Elf64_Nhdr){ 4, 20, NT_GNU_BUILD_ID };
	memcpy(made->note.name, "GNU", 4);
	memset(made->note.build_id, 7, 20);
	made->section[1] = (Elf64_Shdr){ .sh_type = type,
					 .sh_offset = offsetof(struct made, symbol),
					 .sh_size = sizeof(made->symbol),
					 .sh_link = 2,
					 .sh_entsize = sizeof(Elf64_Sym) };
	made->section[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct made, names),
					 .sh_size = NAMES_BYTES };
	made->names_used = 1;
	made->symbols = 1;
	return made;
}

static Elf64_Sym *add_symbol(struct made *made, const char *name, uint64_t start, uint64_t size, int bind)
{
	Elf64_Sym *symbol = &made->symbol[made->symbols++];

	*symbol = (Elf64_Sym){ .st_name = made->names_used,
			       .st_info = ELF64_ST_INFO(bind, STT_FUNC),
			       .st_shndx = 1,
			       .st_value = start,
			       .st_size = size };
	memcpy(made->names + made->names_used, name, strlen(name) + 1);
	made->names_used += (uint32_t)strlen(name) + 1;
	return symbol;
}

static const char *save(const struct made *made, size_t size)
{
	const char *path = kit_path("made.so");

	kit_save(path, (const uint8_t *)made, size);
	return path;
}

/* A module at `path` with frames at `offset`, ids from 1. */
static struct mt_defs *frames_of(const char *path, const uint8_t *build_id, uint32_t size, const uint64_t *offset,
				 size_t count)
{
	struct mt_defs *defs = mt_defs_new();
	struct mt_module module = { .path = mt_defs_add_string(defs, path, strlen(path)), .build_id_size = size };
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE };
	size_t i;

	memcpy(module.build_id, build_id, size);
	frame.module = mt_defs_add_module(defs, &module);
	for (i = 0; i < count; i++) {
		frame.offset = offset[i];
		CHECK_EQ(mt_defs_add_frame(defs, &frame), i + 1);
	}
	return defs;
}

static const char *name_of(const struct mt_defs *defs, uint32_t frame)
{
	return mt_defs_string(defs, mt_defs_frame(defs, frame)->symbol);
}

static uint8_t sevens[32] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 };

/* Names for one address. Returned: whether there is one. */
static int has_name(const struct made *made, size_t size, uint64_t offset)
{
	struct mt_defs *defs = frames_of(save(made, size), sevens, 20, &offset, 1);
	uint32_t added = frame_names_add(defs, FOR_EVER);

	CHECK_EQ(added, mt_defs_frame(defs, 1)->symbol != 0);
	mt_defs_free(defs);
	return added != 0;
}

TEST(addresses_have_the_name_of_the_innermost_function_around_them)
{
	static const uint64_t offset[] = { 0x1500, 0x1000, 0x10ff, 0x1100, 0x1220, 0x1050, 0x1240, 0xfff, 0x3000 };
	static const char *const want[] = { "",      "alpha",     "alpha", "_Z5gammav", "inner",
					    "alpha", "_Z5gammav", "",      "dup_global" };
	struct made *made = make(SHT_SYMTAB);
	struct mt_defs *defs;
	uint32_t i;

	add_symbol(made, "inner", 0x1210, 0x20, STB_LOCAL);
	add_symbol(made, "_Z5gammav", 0x1100, 0x200, STB_WEAK);
	add_symbol(made, "alpha", 0x1000, 0x100, STB_GLOBAL);
	add_symbol(made, "no_size", 0x1400, 0, STB_GLOBAL);
	add_symbol(made, "dup_global", 0x3000, 4, STB_GLOBAL);
	add_symbol(made, "dup_local", 0x3000, 4, STB_LOCAL);
	add_symbol(made, "undefined", 0x0, 0x10000, STB_GLOBAL)->st_shndx = SHN_UNDEF;
	add_symbol(made, "variable", 0x0, 0x10000, STB_GLOBAL)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	add_symbol(made, "wraps", 0x1000, UINT64_MAX, STB_GLOBAL);
	defs = frames_of(save(made, sizeof(*made)), sevens, 20, offset, MT_ARRAY_SIZE(offset));
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 7);
	for (i = 0; i < MT_ARRAY_SIZE(offset); i++)
		CHECK_STR(name_of(defs, i + 1), want[i]);
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 0); /* they have names now */
	mt_defs_free(defs);
	free(made);
}

TEST(a_stripped_file_names_what_it_exports)
{
	struct made *made = make(SHT_DYNSYM);

	add_symbol(made, "exported", 0x1000, 0x100, STB_GLOBAL);
	CHECK(has_name(made, sizeof(*made), 0x1010));
	CHECK(!has_name(made, sizeof(*made), 0x1100));
	free(made);
}

TEST(only_the_recorded_build_in_a_regular_file_and_in_time)
{
	static const uint64_t offset[] = { 0x1010 };
	struct made *made = make(SHT_SYMTAB);
	const char *path;
	struct mt_defs *defs;

	add_symbol(made, "there", 0x1000, 0x100, STB_GLOBAL);
	path = save(made, sizeof(*made));
	defs = frames_of(path, sevens, 20, offset, 1);
	CHECK_EQ(frame_names_add(defs, mt_wait_clock_ns()), 0); /* late */
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 1);
	mt_defs_free(defs);
	defs = frames_of(path, sevens, 19, offset, 1);
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 0);
	mt_defs_free(defs);
	defs = frames_of(path, sevens, 0, offset, 1);
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 0);
	mt_defs_free(defs);
	made->note.build_id[19] ^= 1; /* built anew */
	CHECK(!has_name(made, sizeof(*made), 0x1010));
	CHECK(!unlink(path) && !mkfifo(path, 0600));
	defs = frames_of(path, sevens, 20, offset, 1);
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 0);
	CHECK(!unlink(path));
	CHECK_EQ(frame_names_add(defs, FOR_EVER), 0);
	mt_defs_free(defs);
	free(made);
}

/* Every place where a file may end. Whatever is read then, it is the one name or none. */
TEST(a_file_that_ends_early_has_no_names)
{
	struct made *made = make(SHT_SYMTAB);
	size_t size, named = 0, end = offsetof(struct made, names) + 32;

	add_symbol(made, "there", 0x1000, 0x100, STB_GLOBAL);
	made->section[2].sh_size = 32;
	for (size = 0; size <= end; size += size + 40 < end ? 29 : 1)
		named += (size_t)has_name(made, size, 0x1010);
	CHECK_EQ(named, 1);
	free(made);
}

/* Random numbers in every header and table: nothing is read beyond the file, nothing waits. */
TEST(changed_files_name_nothing_or_something)
{
	struct kit_random random = { 11 };
	struct made *made = make(SHT_SYMTAB), *changed = malloc(sizeof(*made));
	size_t head = offsetof(struct made, names), round, i;

	add_symbol(made, "one", 0x1000, 0x100, STB_GLOBAL);
	add_symbol(made, "two", 0x1000, 0x20, STB_GLOBAL);
	for (round = 0; round < 800; round++) {
		*changed = *made;
		for (i = 0; i < 2; i++)
			((uint8_t *)changed)[kit_below(&random, head)] = (uint8_t)kit_number(&random);
		has_name(changed, sizeof(*made), 0x1010);
	}
	free(changed);
	free(made);
}

TEST(names_have_a_limit_and_an_end)
{
	struct made *made = make(SHT_SYMTAB);
	char name[ELF_NAME_MAX + 2];

	memset(name, 'x', sizeof(name));
	name[ELF_NAME_MAX] = '\0';
	add_symbol(made, name, 0x1000, 0x100, STB_GLOBAL);
	CHECK(has_name(made, sizeof(*made), 0x1010));
	made->names[made->names_used - 1] = 'x'; /* one more byte */
	CHECK(!has_name(made, sizeof(*made), 0x1010));
	made->section[2].sh_size = 8; /* the table ends inside the name */
	CHECK(!has_name(made, sizeof(*made), 0x1010));
	made->symbol[1].st_name = NAMES_BYTES;
	CHECK(!has_name(made, sizeof(*made), 0x1010));
	free(made);
}

TEST_MAIN()
