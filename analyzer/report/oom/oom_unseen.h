/*
 * oom_unseen.h - what NVML counts of the process that asked, and no call of CUDA's tells of. Part of query_oom.h.
 */
#ifndef MEMANA_OOM_UNSEEN_H
#define MEMANA_OOM_UNSEEN_H

#include "base/text.h"
#include "query_oom.h"

/* Fills oom->unseen, where as much as is missing is such, and a good part of the device. 0 or -MT_E_x. */
int oom_find_unseen(struct oom *oom, struct db *db);

/* "9.4 GiB of the GPU is this process's and in no recorded call, ..", and no end of the sentence; and what helps. */
void oom_say_unseen(struct sentence *sentence, const struct oom *oom);
extern const char oom_unseen_remedy[];

#endif
