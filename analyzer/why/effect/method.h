/*
 * method.h - the methods of formats/knobs: how a setting's change scales the bytes of sites. Shared by advise_model.c and method*.c.
 */
#ifndef MEMANA_METHOD_H
#define MEMANA_METHOD_H

#include "advise_model.h"

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)
#define TRAINING (1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD)

/* A change on its way into a scenario. */
struct method {
	struct advise_scenario *scenario;
	const struct advise_run *run;
	struct advise_config *config;
	const struct mt_knob *knob;
	const char *now_text, *to_text;
	double now, to; /* numbers; now < 0: unknown */
	int is_number;  /* 0: `to` is a word */
	int effects;    /* number of changed sites */
	enum advise_silence silence;
};

/* ---- for the methods (method.c) ---- */

/* Index of the next site that the row is about, at or after `from`; the number of sites: none. */
uint32_t method_next(const struct method *method, uint32_t from);

/* Phases that the row speaks of, bits 1 << enum mt_phase. */
uint32_t method_phases(const struct mt_knob *knob);

/* Scales a site, or all sites of the row, by two parts that stay, in either order. */
void method_keep(struct method *method, uint32_t site, double one, double other);
void method_keep_all(struct method *method, double one, double other);

/* Adds bytes beside the sites in these phases. */
void method_add(struct method *method, uint32_t phases, double lean, double heavy);

/* Bytes of the row's sites at the peak of the phase with most, among these phases. */
double method_held_most(const struct method *method, uint32_t phases);

/* Notes why the change has no effect. */
void method_silent(struct method *method, enum advise_silence silence);

double method_layers(const struct advise_run *run); /* layers of the model; a usual number if unknown */

/* For a switch: 1: the new value saves, -1: the old value saved; 0: neither, or no switch. */
int method_direction(const struct method *method);

/* ---- the methods of MT_KNOB_METHOD_LIST: each adds the change to the scenario, or notes why not ---- */

void method_tokens(struct method *method); /* method_tokens.c */
void method_logits(struct method *method);
void method_removed(struct method *method); /* method_removed.c */
void method_divided(struct method *method); /* method_divided.c */
void method_bucket(struct method *method);
void method_share(struct method *method);
void method_kept(struct method *method);

#endif
