/*
 * symbol_index.h - finds the symbol that names an address, after one pass over the file's symbols. elfutils' dwfl_module_addrinfo gives the same
 * answer, but reads all symbols of the file for each address.
 */
#ifndef MEMANA_SYMBOL_INDEX_H
#define MEMANA_SYMBOL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define SYMBOL_ABSOLUTE 0x3fffffffu

struct symbol_span {
	uint64_t start, end;   /* end: equal to start for a label, a symbol without a size */
	uint64_t reach;        /* private to the index */
	uint32_t number;       /* number in the symbol table, above 0 */
	uint32_t section : 30; /* section of a label; SYMBOL_ABSOLUTE: the label names only its own address */
	uint32_t rank : 2;     /* binding of the symbol: the higher one wins */
};

struct symbol_index {
	struct symbol_span *span; /* malloc'd by the caller, sorted by number */
	size_t count;             /* at most UINT32_MAX */
	uint32_t first_global;    /* global symbols have this number or a higher one */
	uint64_t *near;           /* private to the index */
	size_t near_room;
	uint64_t looked_at; /* number of spans read by all calls of symbol_index_find: tests count the work */
};

/* Sorts the spans; call this once, before symbol_index_find. Returns 0; -1: out of memory. */
int symbol_index_build(struct symbol_index *index);

/* Returns the number of the symbol that names `address` in the section `section`; 0: no symbol, or out of memory. */
uint32_t symbol_index_find(struct symbol_index *index, uint64_t address, uint32_t section);

void symbol_index_release(struct symbol_index *index);

#endif
