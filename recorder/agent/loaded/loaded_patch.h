/*
 * loaded_patch.h - redirects calls of loaded objects by writing the slots (GOT) of these calls.
 *
 * For names that the loader has bound before the agent was loaded; otherwise the loader binds them to the agent.
 */
#ifndef RECORDER_LOADED_PATCH_H
#define RECORDER_LOADED_PATCH_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* A name and its replacement. */
struct loaded_hook {
	const char *symbol;
	void *function;
};

#define LOADED_HOOKS_MAX 32u

/*
 * Redirects the calls of `symbol` to `replacement` in each loaded object whose path contains `part`. The objects must
 * be loaded completely. Returns the number of slots written; 0: no such calls.
 */
int loaded_patch(const char *part, const char *symbol, void *replacement);

/* The result of a pass over the loaded objects. */
struct loaded_pass {
	uint32_t bound;     /* bit n: slots of hook n were written */
	unsigned int later; /* number of objects that the loader has not finished: look again */
};

/*
 * Redirects the calls of all `hooks` in each loaded object except copies of the agent. At most LOADED_HOOKS_MAX hooks,
 * the same at each call. Other threads may call through the slots, and load and unload objects, meanwhile. A slot is
 * written only if it has the loader's own value, so a slot of another tool stays. An object that is not relocated yet
 * is left for later. Finished objects are skipped next time.
 *
 * One call at a time. Takes the lock of dl_iterate_phdr, which no thread holds while it waits; no malloc, and not the
 * loader's lock. Reads /proc/self/maps, so no thread may be cancelled here.
 */
void loaded_rebind(const struct loaded_hook *hooks, size_t count, struct loaded_pass *pass);

/* The tables of one loaded object; for loaded.c and loaded_patch.c alone. */

/* The symbol tables of an object. */
struct elf_symbols {
	const ElfW(Sym) * symbol;
	const char *string;
	const uint32_t *hash; /* DT_GNU_HASH; NULL: none, so no name can be found */
};

/* The dynamic section; NULL: none. */
const ElfW(Dyn) * elf_dynamic(const struct dl_phdr_info *object);

/* A pointer of the dynamic section. */
const void *elf_pointer(const struct dl_phdr_info *object, ElfW(Addr) value);

/* 1: filled in, 0: the object has no symbols. */
int elf_symbols(const struct dl_phdr_info *object, struct elf_symbols *tables);

/* The object's own definition of `name`; NULL: none. */
const ElfW(Sym) * elf_look_up(const struct elf_symbols *tables, const char *name);

/*
 * As elf_look_up, and also a mere reference to `name` that is in the object's table of names. Most references are not
 * in it.
 */
const ElfW(Sym) * elf_symbol(const struct elf_symbols *tables, const char *name);

/* 1: a copy of the agent. Its hooks are no real functions: calling them would come back here. */
int elf_is_agent(const struct elf_symbols *tables);

#endif
