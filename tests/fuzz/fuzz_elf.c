/*
 * fuzz_elf.c - names and lines out of the ELF and DWARF of a module (analyzer/base/symbol.c), and names of its symbol tables
 * for the collector (formats/ring/elf_names.c). Inputs are modules; a build id
 * is taken from the input itself, as a hostile trace would name it.
 */
#include <elf.h>
#include <string.h>
#include "base/symbol.h"
#include "fuzz.h"
#include "ring/elf_names.h"

#define LEVELS 8
#define PLACES 24u /* addresses that are asked for, beside the beginnings of functions */
#define BUILD_ID_MAX 32u

struct build_id {
	const uint8_t *bytes;
	size_t size;
};

/* The note may be anywhere: it is found by what it looks like. */
static struct build_id find_build_id(const uint8_t *data, size_t size)
{
	static const uint8_t note[] = { NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0 };
	const uint8_t *at = size > sizeof(note) ? memmem(data + 4, size - 4, note, sizeof(note)) : NULL;
	size_t wanted;

	if (!at)
		return (struct build_id){ data, 0 };
	wanted = at[-4];
	at += sizeof(note);
	if (wanted > BUILD_ID_MAX || wanted > (size_t)(data + size - at))
		wanted = 0;
	return (struct build_id){ at, wanted };
}

static int take_name(void *context, const struct elf_name *wanted, const char *name)
{
	size_t *taken = context;

	FUZZ_CHECK(!wanted->unnamed && *name && strlen(name) <= ELF_NAME_MAX);
	++*taken;
	return 0;
}

static void find_names(const char *path, const struct build_id *id, size_t size)
{
	struct elf_name wanted[PLACES];
	size_t i, taken = 0;

	for (i = 0; i < PLACES; i++)
		wanted[i] = (struct elf_name){ .offset = 0x1000 + i * (size / PLACES), .unnamed = 1 };
	FUZZ_CHECK(elf_names_find(path, id->bytes, id->size, wanted, PLACES, UINT64_MAX, take_name, &taken) == taken);
	for (i = 0; i < PLACES; i++)
		taken -= !wanted[i].unnamed;
	FUZZ_CHECK(!taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file("module.so", data, size);
	struct build_id id = find_build_id(data, size);
	struct symbols *symbols = symbols_new();
	struct symbol found[LEVELS];
	uint64_t address;
	size_t i, count, level;

	FUZZ_CHECK(symbols != NULL);
	find_names(path, &id, size);
	for (i = 0; i < PLACES && id.size; i++) {
		address = 0x1000 + i * (size / PLACES);
		count = symbols_find(symbols, path, id.bytes, id.size, address, found, LEVELS);
		FUZZ_CHECK(count <= LEVELS);
		for (level = 0; level < count; level++)
			FUZZ_CHECK(strlen(found[level].function) + strlen(found[level].file) < size + (64u << 20));
	}
	symbols_free(symbols);
	return 0;
}

/* Mostly without moving anything: every table of an ELF file is found by its offset. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_random random = { seed };
	size_t at, bytes, changes;

	if (!size || !fuzz_below(&random, 16))
		return LLVMFuzzerMutate(data, size, room);
	for (changes = 1 + fuzz_below(&random, 4); changes; changes--) {
		bytes = 1 + fuzz_below(&random, size < 16 ? size : 16);
		at = fuzz_below(&random, size - bytes + 1);
		fuzz_in_place(data + at, bytes);
	}
	return size;
}
