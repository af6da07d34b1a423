#include "running.h"

#include "memtrace/base.h"
#include "report/answer.h"

/* Finds the outermost numbered module (a layer) around the running module, the layer's sisters, and the activations of these. */
static const char sisters_sql[] =
	"WITH RECURSIVE up AS (SELECT submodule.* FROM submodule JOIN oom ON oom.submodule = submodule.id WHERE oom.id = ?1 "
	"UNION ALL SELECT it.* FROM submodule AS it JOIN up ON it.id = up.parent), "
	"layer AS (SELECT id, parent FROM up WHERE named AND word <> '' AND word NOT GLOB '*[^0-9]*' ORDER BY depth LIMIT 1), "
	"below AS (SELECT id, id AS sister FROM submodule WHERE parent = (SELECT parent FROM layer) AND id <> (SELECT id FROM layer) "
	"UNION ALL SELECT it.id, sister FROM submodule AS it JOIN below ON it.parent = below.id), "
	"held AS (SELECT sister, sum(live.bytes) AS bytes FROM live_at AS live JOIN site_module ON site_module.site = live.site "
	"JOIN below ON below.id = site_module.submodule WHERE moment = 'oom:' || ?1 AND in_use AND category IN ('activations', "
	"'recomputed activations') GROUP BY sister) "
	"SELECT path, bytes FROM held JOIN submodule ON submodule.id = sister WHERE bytes ORDER BY CAST(word AS INTEGER), word";

static int take_module(void *context, struct db_stmt *row)
{
	struct running *running = context;

	mt_copy_text(running->path, sizeof(running->path), db_text(row, 0));
	mt_copy_text(running->type, sizeof(running->type), db_text(row, 1));
	return 0;
}

static int take_sister(void *context, struct db_stmt *row)
{
	struct running *running = context;

	if (!running->sisters++)
		mt_copy_text(running->first, sizeof(running->first), db_text(row, 0));
	mt_copy_text(running->last, sizeof(running->last), db_text(row, 0));
	running->bytes += (uint64_t)db_int(row, 1);
	return 0;
}

int running_load(struct running *running, struct db *db, int64_t oom)
{
	const int64_t parameter[DB_PARAMETERS] = { oom };
	int error;

	*running = (struct running){ .sisters = 0 };
	error = db_rows(
		db,
		"SELECT path, ifnull(type, '') FROM submodule JOIN oom ON oom.submodule = submodule.id WHERE oom.id = ?1",
		parameter, take_module, running);
	return error || !*running->path ? error : db_rows(db, sisters_sql, parameter, take_sister, running);
}

void running_say(struct sentence *sentence, const struct running *running)
{
	char size[TEXT_SIZE_MAX], clean[256];

	if (!*running->path)
		return;
	sentence_say(sentence, "%s was running", text_fit(clean, sizeof(clean), running->path, 60, 1));
	if (*running->type)
		sentence_say(sentence, " (%s)", text_fit(clean, sizeof(clean), running->type, 40, 0));
	if (running->sisters) {
		sentence_say(sentence, "; %s", text_fit(clean, sizeof(clean), running->first, 60, 1));
		if (running->sisters > 1)
			sentence_say(sentence, " to %s", text_fit(clean, sizeof(clean), running->last, 60, 1));
		sentence_say(sentence, " hold%s %s of activations", running->sisters > 1 ? "" : "s",
			     text_bytes(size, running->bytes));
	}
	sentence_say(sentence, ".");
}

void running_json(struct doc *doc, const struct running *running)
{
	if (!*running->path)
		return;
	doc_string(doc, "submodule", running->path);
	doc_object(doc, "layers");
	doc_int(doc, "count", (int64_t)running->sisters);
	doc_string(doc, "first", running->first);
	doc_string(doc, "last", running->last);
	doc_int(doc, "activations_bytes", (int64_t)running->bytes);
	doc_end(doc);
}
