/* oom_none.h - the answer for a run without a failed request: the device that came nearest to its limit. */
#ifndef MEMANA_OOM_NONE_H
#define MEMANA_OOM_NONE_H

#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

/* "No request for GPU memory failed in this recording, and none came near: ..", or the end by host memory. 0 or -MT_E_x. */
int oom_none_say(struct sentence *sentence, struct db *db);

/* The object "nearest", if a device was recorded. 0 or -MT_E_x. */
int oom_none_json(struct doc *doc, struct db *db);

#endif
