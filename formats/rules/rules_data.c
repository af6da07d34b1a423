/*
 * rules_data.c - the built-in rule files, carried inside the program as they are. Paths are relative to the source
 * root, where make runs.
 */
#include "memtrace/base.h"
#include "rules.h"

#define EMBED(symbol, file)                                                \
	__asm__(".pushsection .rodata\n" #symbol ":\n"                     \
		"\t.incbin \"formats/rules/" file "\"\n" #symbol "_end:\n" \
		"\t.byte 0\n"                                              \
		"\t.popsection\n");                                        \
	extern const char symbol[] __attribute__((visibility("hidden")));  \
	extern const char symbol##_end[] __attribute__((visibility("hidden")));

RULES_BUILTIN_LIST(EMBED)

const struct rules_builtin *rules_builtin(size_t *count)
{
#define ENTRY(symbol, file) { file, symbol, symbol##_end },
	static const struct rules_builtin all[] = { RULES_BUILTIN_LIST(ENTRY) };
#undef ENTRY

	*count = MT_ARRAY_SIZE(all);
	return all;
}
