#include "oom_unseen.h"

#include "memtrace/base.h"
#include "report/answer.h"

#define SHARE 8 /* of the device: contexts, code and what drivers keep are less than one part in so many */
#define RISE 2  /* one part in so many of it came while the process ran */

/*
 * A renderer takes memory by Vulkan or OpenGL: NVML counts it as the process's, and CUDA does not know. What was there before the
 * recording, contexts, code, graphs and pools have names of their own in the samples, so none of them is among it.
 */
static const char sql[] =
	"SELECT unexplained_bytes, (SELECT unexplained_bytes FROM gpu_sample WHERE process = ?1 AND device = ?2 "
	"AND unexplained_bytes IS NOT NULL ORDER BY time LIMIT 1) FROM gpu_sample WHERE process = ?1 AND device = ?2 AND time <= ?3 "
	"AND process_bytes IS NOT NULL AND unexplained_bytes IS NOT NULL "
	/* Where driver calls were not recorded, nobody knows what is unseen. */
	"AND NOT EXISTS (SELECT 1 FROM source WHERE process = ?1 AND name = 'cupti' AND state <> 'on') ORDER BY time DESC LIMIT 1";

static int take_unseen(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	int64_t now = db_int(stmt, 0), first = db_int(stmt, 1);

	oom->unseen.bytes = now > 0 ? (uint64_t)now : 0;
	oom->unseen.first = first > 0 ? (uint64_t)first : 0;
	return 0;
}

int oom_find_unseen(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, it->time };
	uint64_t held = oom->unrecorded + (it->free > 0 ? (uint64_t)it->free : 0);
	int error = answer_rows(db, sql, parameter, take_unseen, oom);
	size_t i;

	/* No more than is left of the device: the sample is older than the request. */
	for (i = 0; i < oom->holders; i++)
		held += oom->holder[i].held;
	if (oom->unseen.bytes > (held < it->total ? it->total - held : 0))
		oom->unseen.bytes = held < it->total ? it->total - held : 0;
	if (oom->unseen.bytes < oom_missing(it) || oom->unseen.bytes < it->total / SHARE)
		oom->unseen = (struct oom_unseen){ .bytes = 0 };
	return error;
}

const char oom_unseen_remedy[] =
	"see what else works on this GPU in the process, such as a simulator or renderer (Vulkan, OpenGL), and let it have fewer or smaller "
	"scenes and cameras, or fewer environments, and let the old ones go when it makes them anew; no setting of PyTorch moves that memory";

void oom_say_unseen(struct sentence *sentence, const struct oom *oom)
{
	char size[2][TEXT_SIZE_MAX];

	sentence_say(sentence, "%s of the GPU is this process's and in no recorded call of CUDA's, beside its context and code",
		     text_bytes(size[0], oom->unseen.bytes));
	if (oom->unseen.first <= oom->unseen.bytes - oom->unseen.bytes / RISE)
		sentence_say(sentence, "; when it was first looked at, it was %s", text_bytes(size[1], oom->unseen.first));
}
