/*
 * symbol.h - names and source lines for native frames, looked up after the recording. Only this room uses elfutils.
 *
 * A module's file is used only if its build-id is the recorded one. Otherwise there is no name: a wrong name is worse
 * than no name. The network is never used.
 */
#ifndef MEMANA_SYMBOL_H
#define MEMANA_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/* Strings live as long as the struct symbols; never NULL, "" and 0: not known. */
struct symbol {
	const char *function; /* demangled */
	const char *file;     /* source */
	unsigned line;
};

struct symbols *symbols_new(void); /* NULL: out of memory */
void symbols_free(struct symbols *symbols);

/*
 * The names at address `offset` of the ELF file `path`. For inlined code, the innermost function comes first and its
 * callers follow. Fills at most `max` and returns how many, at least 0; each file is opened once.
 */
size_t symbols_find(struct symbols *symbols, const char *path, const void *build_id, size_t build_id_size,
		    uint64_t offset, struct symbol *found, size_t max);

#endif
