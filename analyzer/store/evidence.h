/* evidence.h - why a site has its category and its phase, in words. */
#ifndef MEMANA_EVIDENCE_H
#define MEMANA_EVIDENCE_H

#include "engine/analysis.h"

/* On whose word the category rests: "census", "rule", "probable". Static storage. */
const char *evidence_known(const struct analysis *analysis, uint32_t number);

/* One sentence without a full stop on why the site has its category; "" where there is nothing to say. Returns `text`. */
char *evidence_text(char *text, size_t size, const struct analysis *analysis, uint32_t number);

/* "step (optimizer.py:88), rule pytorch.yaml:12": the frame that decided on the phase; "": no frame did. Returns `text`. */
char *evidence_decided_by(char *text, size_t size, const struct analysis *analysis, uint32_t number);

#define EVIDENCE_TEXT_MAX 512u

#endif
