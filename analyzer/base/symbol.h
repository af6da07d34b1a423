/*
 * symbol.h - names and source lines of native frames, looked up after the recording. Only this room uses elfutils.
 *
 * A module's file is used only if its build-id is the recorded one. Without such a file a frame has no name: a wrong name is worse. The network is
 * never used.
 */
#ifndef MEMANA_SYMBOL_H
#define MEMANA_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/* Strings live as long as struct symbols, and are never NULL; "" and 0: unknown. */
struct symbol {
	const char *function; /* demangled */
	const char *file;     /* source file */
	unsigned line;
};

struct symbols *symbols_new(void); /* NULL: out of memory */
void symbols_free(struct symbols *symbols);

/*
 * Finds the names at address `offset` of the ELF file `path`: for inlined code, the innermost function first, then its callers. Fills at most `max`
 * and returns the number. Each file is opened once.
 */
size_t symbols_find(struct symbols *symbols, const char *path, const void *build_id, size_t build_id_size,
		    uint64_t offset, struct symbol *found, size_t max);

#endif
