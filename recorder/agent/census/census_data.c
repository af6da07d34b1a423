/* census_data.c - the text of census.py, word for word. Paths are relative to the source root, where make runs. */
#include "agent_census.h"

__asm__(".pushsection .rodata\n"
	".global census_code\n"
	".hidden census_code\n"
	".type census_code, @object\n"
	"census_code:\n"
	"\t.incbin \"recorder/agent/census/census.py\"\n"
	"\t.byte 0\n"
	".size census_code, . - census_code\n"
	"\t.popsection\n");
