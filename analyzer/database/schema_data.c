/* The text of schema.sql, word for word. */
#include "schema.h"

__asm__(".section .rodata\n"
	".global schema_sql\n"
	".type schema_sql, @object\n"
	"schema_sql:\n"
	".incbin \"analyzer/database/schema.sql\"\n"
	".byte 0\n"
	".size schema_sql, . - schema_sql\n"
	".previous\n");
