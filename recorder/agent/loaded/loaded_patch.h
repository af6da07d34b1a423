/*
 * loaded_patch.h - change what loaded objects call, by writing into the slots (GOT) that their calls go through.
 *
 * Needed where the loader has bound names before we were there, and would have bound them to us.
 */
#ifndef RECORDER_LOADED_PATCH_H
#define RECORDER_LOADED_PATCH_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* A name, and what is to be called by it. */
struct loaded_hook {
	const char *symbol;
	void *function;
};

#define LOADED_HOOKS_MAX 32u

/*
 * Binds the calls of `symbol` in every loaded object whose path contains `part` to `replacement`: what they call from
 * now on, in these objects only, which must be loaded completely. The number of slots written; 0: they do not call it.
 */
int loaded_patch(const char *part, const char *symbol, void *replacement);

/* The result of a pass over the loaded objects. */
struct loaded_pass {
	uint32_t bound;     /* bit n: slots of hook n were written */
	unsigned int later; /* objects that the loader is not done with: look again */
};

/*
 * Binds the calls of all `hooks` (at most LOADED_HOOKS_MAX, the same at every call) in every loaded object but copies
 * of the agent. May be called while other threads call through the slots, and while they load and unload objects. A
 * slot is written only if it holds the loader's own value. An object that is not relocated yet is left for later, and
 * a slot of some other tool is left to it. Objects that are done are passed over next time.
 *
 * One call at a time. Takes the lock of dl_iterate_phdr, which nobody holds while waiting for anything; no malloc, not
 * the loader's lock. Reads /proc/self/maps, so no thread may be cancelled here.
 */
void loaded_rebind(const struct loaded_hook *hooks, size_t count, struct loaded_pass *pass);

/* The tables of one loaded object; for loaded.c and loaded_patch.c alone. */

/* The symbol tables of an object. */
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

/* The object's own definition of `name`; NULL: nothing. */
const ElfW(Sym) * elf_look_up(const struct elf_symbols *tables, const char *name);

/* The same, or what it only refers to, if that is in its table of names, too; most such symbols are not. */
const ElfW(Sym) * elf_symbol(const struct elf_symbols *tables, const char *name);

/* 1: ours or another copy of the agent: its hooks are no real functions, and calling them would come back to us. */
int elf_is_agent(const struct elf_symbols *tables);

#endif
