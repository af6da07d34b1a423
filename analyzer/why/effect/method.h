/* method.h - the methods of formats/knobs: how a change of a setting scales the bytes of sites. advise_model.c and method*.c share these. */
#ifndef MEMANA_METHOD_H
#define MEMANA_METHOD_H

#include "advise_model.h"

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define INNER 3 /* number of inner functions that name an allocation */
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)
#define TRAINING (1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD)

/* A change while it is added to a scenario. */
struct method {
	struct advise_scenario *scenario;
	const struct advise_run *run;
	struct advise_config *config;
	const struct mt_knob *knob;
	const char *now_text, *to_text;
	double now, to; /* numbers; now < 0: unknown */
	int is_number;  /* 0: `to` is a word */
	int effects;    /* number of changed sites */
};

/* ---- for the methods (method.c) ---- */

/* Returns the next site that the row is about after `site`, or the first one for NULL. Returns NULL after the last one. */
const struct replay_site *method_next(const struct method *method, const struct replay_site *site);

/* Returns the phases of the row, bits 1 << enum mt_phase. */
uint32_t method_phases(const struct mt_knob *knob);

/* Scales a site, or all sites of the row, by the smallest and the largest part that stays, in either order. */
void method_keep(struct method *method, const struct replay_site *site, double one, double other);
void method_keep_all(struct method *method, double one, double other);

/* Adds bytes in these phases that belong to no site. */
void method_add(struct method *method, uint32_t phases, double lean, double heavy);

/* For a switch, returns 1: the new value saves; -1: the old value saved; 0: neither, or no switch. */
int method_direction(const struct method *method);

/*
 * The methods of MT_KNOB_METHOD_LIST. Each adds the change to the scenario, or returns the reason why it has no effect. A method that finds no bytes
 * returns ADVISE_SILENT_NONE and changes no site.
 */
enum advise_silence method_tokens(struct method *method); /* method_tokens.c */
enum advise_silence method_logits(struct method *method);
enum advise_silence method_removed(struct method *method); /* method.c */
enum advise_silence method_divided(struct method *method);
enum advise_silence method_bucket(struct method *method);
enum advise_silence method_share(struct method *method);
enum advise_silence method_kept(struct method *method);

#endif
