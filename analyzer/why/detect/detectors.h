/*
 * detectors.h - the table of detectors: function, kind and sentence of each cause.
 *
 * A sentence gives place, bytes and evidence. {name} is a word of why_words.c or a fact of find.h. The page leaves out a part in
 * [brackets] if one of its words is unknown.
 */
#ifndef MEMANA_WHY_DETECTORS_H
#define MEMANA_WHY_DETECTORS_H

#include "why/find/find.h"

/* X(NAME of mt_cause, function, kind, sentence). The kind decides between candidates of the same size class: 0 is certain, 7 has no evidence. */
#define DETECTOR_LIST(X)                                                                                                          \
	X(TOO_LARGE, find_too_large, 0,                                                                                           \
	  "{place} requests {requested} in one piece[. The GPU has {gpu}][. Earlier pieces had at most {earlier}].")              \
	X(HOST, find_host, 0,                                                                                                     \
	  "{hosted} {bytes} of host memory[ of {limit} in all][. {rate} more came {rhythm}][. Last seen in {place}].")            \
	X(CRASHED, find_crashed, 0, "{process} ended abruptly. GPU and host had room at the last sample.")                        \
	X(WRONG_DEVICE, find_wrong_device, 1,                                                                                     \
	  "{hosted} {bytes} of this GPU, contexts included[. The largest place is {place}].")                                     \
	X(GROWS, find_grows, 1, "{place} keeps {bytes}{of}[ ({pieces} x {each})][. {rate} more came {rhythm}].")                  \
	X(NO_BACKWARD, find_no_backward, 1, "{place} keeps {bytes}{of} for a backward that has not come.")                        \
	X(SETTING_IGNORED, find_setting_ignored, 1,                                                                               \
	  "{place} holds {bytes}{of}, although a setting should prevent this.")                                                   \
	X(TWICE, find_twice, 2, "{place} {holds} a second copy: {bytes}{of}.")                                                    \
	X(PEER_AWAKE, find_peer_awake, 2, "{process} holds {bytes}{of}[, made by {place}][, {unneeded}].")                        \
	X(UNNEEDED, find_unneeded, 2, "{place} holds {bytes}{of}[ from {phase}][ ({pieces} x {each})], {unneeded}.")              \
	X(LOGITS, find_logits, 2,                                                                                                 \
	  "{place} makes {bytes} of logits[ in {pieces} pieces][: {tokens} tokens x {vocabulary} words x {element}].")            \
	X(UNEVEN, find_uneven, 2, "{place} holds {bytes}{of}, {excess} more than on other ranks.")                                \
	X(ALLOCATOR_IDLE, find_allocator_idle, 2,                                                                                 \
	  "The allocator of {process} keeps {bytes} that no tensor uses[. The largest hole has {hole}].")                         \
	X(OUTSIDE, find_outside, 3,                                                                                               \
	  "Contexts, libraries and other programs hold {bytes} that no recorded call took[, at most {expected} of them before].") \
	X(UNSHARDED, find_unsharded, 3, "{place} {holds} {bytes}{of}, whole on this GPU[ and on {ranks} ranks].")                 \
	X(ENGINE_SHARE, find_engine_share, 3,                                                                                     \
	  "The engine in {process} {holds} {bytes}{of}[, made by {place}]. Its share of the GPU sets this size.")                 \
	X(OUTLIER, find_outlier, 3, "{place} {holds} {bytes}{of}[. Earlier pieces had at most {earlier}].")                       \
	X(AT_ONCE, find_at_once, 3, "{place} holds [{pieces} pieces of {each} at once: ]{bytes}{of}.")                            \
	X(MORE_THAN_BEFORE, find_more_than_before, 4, "{place} holds {bytes}{of}, {excess} more than {before}.")                  \
	X(LARGEST, find_largest, 6, "{place} {holds} {bytes}{of}[ ({pieces} x {each})].")                                         \
	X(NO_EVIDENCE, find_no_evidence, 7, "The recording does not tell what filled the GPU.")

#define DETECTOR_DECLARE(name, function, kind, says) void function(struct find *find);
DETECTOR_LIST(DETECTOR_DECLARE)
#undef DETECTOR_DECLARE

/* A row of the list. The index in the table is the cause. */
struct detector {
	void (*run)(struct find *find);
	uint64_t kind;
	const char *says;
};
extern const struct detector detectors[MT_CAUSES];

/* ---- what detectors share ---- */

/* Returns the bytes of a process's context: from NVML, else an estimate; 0: the process has no bytes on the device (find_outside.c). */
uint64_t find_context(const struct scene *scene, uint32_t process);

/* Puts the bytes of earlier attempts into find->take (find_over.c). */
void find_attempt(struct find *find);

/* Whether the site has more bytes than the rank's shard explains. A rank without weights has no shard (find_unsharded.c). */
int find_is_whole(const struct scene *scene, const struct scene_site *site);

#endif
