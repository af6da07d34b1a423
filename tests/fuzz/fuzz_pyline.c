/*
 * fuzz_pyline.c - Python's tables of line numbers, of all versions.
 *
 *     version (1 byte: minor), first line (4), offset of the instruction (4), table
 */
#include "base/varint.h"
#include "fuzz.h"
#include "ring/intake.h"

#define HEAD_BYTES 9u
#define MINORS 16u /* Python 3.0 to 3.15 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t version, first, offset, line;

	if (size < HEAD_BYTES)
		return 0;
	version = 3u << 24 | data[0] % MINORS << 16 | 0xf0;
	first = mt_load_u32(data + 1);
	offset = mt_load_u32(data + 5);
	line = mt_pyline(version, data + HEAD_BYTES, size - HEAD_BYTES, first, offset);
	FUZZ_CHECK(line <= INT32_MAX);
	FUZZ_CHECK(line == mt_pyline(version, data + HEAD_BYTES, size - HEAD_BYTES, first, offset));
	return 0;
}
