/* loaded_elf.h - the tables of one loaded object; for loaded.c and loaded_patch.c alone. */
#ifndef RECORDER_LOADED_ELF_H
#define RECORDER_LOADED_ELF_H

#include <link.h>
#include <stdint.h>

/* Where an object keeps its symbols. */
struct elf_symbols {
	const ElfW(Sym) * symbol;
	const char *string;
	const uint32_t *hash; /* DT_GNU_HASH; NULL: none, and nothing is found by name */
};

/* The dynamic section; NULL: none. */
const ElfW(Dyn) * elf_dynamic(const struct dl_phdr_info *object);

/* A pointer of the dynamic section. */
const void *elf_pointer(const struct dl_phdr_info *object, ElfW(Addr) value);

/* 1: filled in, 0: the object has no symbols. */
int elf_symbols(const struct dl_phdr_info *object, struct elf_symbols *tables);

/* What the object itself defines under `name`; NULL: nothing. */
const ElfW(Sym) * elf_look_up(const struct elf_symbols *tables, const char *name);

/* The same, or what it only refers to, if that is in its table of names, too; most such symbols are not. */
const ElfW(Sym) * elf_symbol(const struct elf_symbols *tables, const char *name);

/* 1: ours or another copy of the agent: its hooks are no real functions, and calling them would come back to us. */
int elf_is_agent(const struct elf_symbols *tables);

#endif
