#include "package.h"

#include <ctype.h>
#include <string.h>
#include "memtrace/base.h"

const char *package_of(const char *file, char out[PACKAGE_MAX])
{
	const char *packages = strstr(file, "-packages/");
	size_t i;

	file = packages ? packages + strlen("-packages/") : file;
	for (i = 0; i + 1 < PACKAGE_MAX && (isalnum((unsigned char)file[i]) || file[i] == '_'); i++)
		out[i] = file[i];
	out[file[i] == '/' ? i : 0] = '\0';
	return out;
}
