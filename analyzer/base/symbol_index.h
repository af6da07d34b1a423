/*
 * symbol_index.h - the symbol that names an address: one pass over a file's symbols, and then no pass for an address.
 *
 * The answer is that of elfutils' dwfl_module_addrinfo, which walks over all symbols of the file for each address.
 */
#ifndef MEMANA_SYMBOL_INDEX_H
#define MEMANA_SYMBOL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define SYMBOL_ABSOLUTE 0x3fffffffu

struct symbol_span {
	uint64_t start, end;   /* equal for a label: a symbol without a size */
	uint64_t reach;        /* the index's own */
	uint32_t number;       /* in the symbol table; above 0 */
	uint32_t section : 30; /* a label's; SYMBOL_ABSOLUTE: the label names its own address alone */
	uint32_t rank : 2;     /* the binding: a higher one wins */
};

struct symbol_index {
	struct symbol_span *span; /* malloc'd by the caller, in the order of the numbers */
	size_t count;             /* at most UINT32_MAX */
	uint32_t first_global;    /* symbols from this number on come first */
	uint64_t *near;           /* the index's own */
	size_t near_room;
	uint64_t looked_at; /* spans, by all calls of symbol_index_find: tests count the work */
};

/* Sorts the spans. To be called once, before symbol_index_find. 0, or -1: out of memory. */
int symbol_index_build(struct symbol_index *index);

/* The number of the symbol that names `address`, which lies in the section `section`; 0: none, or out of memory. */
uint32_t symbol_index_find(struct symbol_index *index, uint64_t address, uint32_t section);

void symbol_index_release(struct symbol_index *index);

#endif
