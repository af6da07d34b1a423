/* fuzz_pickle.c - pickles: the reader of values, and the importer that makes a trace of a PyTorch snapshot. */
#include <string.h>
#include <unistd.h>
#include "fuzz.h"
#include "memtrace/import.h"
#include "memtrace/phase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file("snapshot.pickle", data, size), *trace = fuzz_path("imported.zst");
	struct mt_import_summary summary = { 0 };

	unlink(trace);
	if (mt_import_snapshot(path, trace, fuzz_rules(), &summary)) {
		FUZZ_CHECK(access(trace, F_OK)); /* nothing is left behind */
		return 0;
	}
	FUZZ_CHECK(trace_read(trace) == 0);
	return 0;
}
