/* The largest holders, of any category: always candidates, and the last among equals. */
#include "detectors.h"

void find_largest(struct find *find)
{
	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .by_category = 1 }, NULL);
}
