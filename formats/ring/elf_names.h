/*
 * elf_names.h - finds function names by address in the symbol tables of an ELF file on disk.
 *
 * The file belongs to the recorded program and may be malformed. The reader takes bounded memory, stops at a deadline,
 * and gives no name in doubt. The analyzer finds lines and inlined functions, and demangles names.
 */
#ifndef FORMATS_ELF_NAMES_H
#define FORMATS_ELF_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define ELF_NAME_MAX 4096u /* bytes of a name; a longer name is ignored */

/* An address of the file, and the symbol around it. */
struct elf_name {
	uint64_t offset;  /* address in the file: return address minus 1, minus the module's bias */
	uint32_t frame;   /* the caller's */
	uint32_t unnamed; /* 1: no symbol was found yet; elf_names_find sets 0 */
};

/*
 * Takes one found name: `wanted` as given to elf_names_find, `name` for the call only, not empty. Other than 0 ends the
 * search.
 */
typedef int elf_name_taker(void *context, const struct elf_name *wanted, const char *name);

/*
 * Names the addresses in `wanted`, which are `unnamed` and in ascending order of `offset`. `path` must be a regular
 * file with this build id. The search ends at `deadline`, a time of mt_wait_clock_ns(). Calls `take` for each name and
 * returns the number of names, 0 also after an error.
 */
size_t elf_names_find(const char *path, const uint8_t *build_id, size_t build_id_size, struct elf_name *wanted,
		      size_t count, uint64_t deadline, elf_name_taker *take, void *context);

#endif
