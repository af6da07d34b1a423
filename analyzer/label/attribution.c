#include "attribution.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define FIRST_SITES 256u
#define FIRST_SLOTS 1024u

int attribution_init(struct attribution *attribution)
{
	memset(attribution, 0, sizeof(*attribution));
	attribution->site = calloc(FIRST_SITES, sizeof(*attribution->site));
	attribution->slot = calloc(FIRST_SLOTS, sizeof(*attribution->slot));
	if (!attribution->site || !attribution->slot) {
		attribution_release(attribution);
		return -MT_E_MEMORY;
	}
	attribution->site_room = FIRST_SITES;
	attribution->slots = FIRST_SLOTS;
	attribution->sites = 1;
	return 0;
}

void attribution_release(struct attribution *attribution)
{
	free(attribution->site);
	free(attribution->slot);
	free(attribution->device);
	free(attribution->dirty);
	memset(attribution, 0, sizeof(*attribution));
}

int attribution_device(struct attribution *attribution)
{
	size_t count = attribution->devices + 1;
	struct attribution_device *device = realloc(attribution->device, count * sizeof(*device));
	uint32_t *dirty;

	if (!device)
		return -MT_E_MEMORY;
	attribution->device = device;
	dirty = realloc(attribution->dirty, count * sizeof(*dirty));
	if (!dirty)
		return -MT_E_MEMORY;
	attribution->dirty = dirty;
	memset(&device[attribution->devices], 0, sizeof(*device));
	return (int)attribution->devices++;
}

_Static_assert(sizeof(struct site_key) == 16, "words_of knows all fields");

struct key_words {
	uint64_t where, what;
};

/* Builds two words from the fields of a key. A load of whole words would stall: the fields of a new key were just written one by one. */
static inline struct key_words words_of(const struct site_key *key)
{
	return (struct key_words){ .where = key->process | (uint64_t)key->device << 32,
				   .what = key->stack | (uint64_t)key->phase << 32 | (uint64_t)key->category << 40 |
					   (uint64_t)key->driver << 48 | (uint64_t)key->size << 56 };
}

static inline uint64_t hash_words(const struct key_words *words)
{
	uint64_t hash = words->where ^ words->what * 0x9e3779b97f4a7c15ull;

	/* The size is in the highest byte. A product alone never moves the highest byte down to the bits of a slot. */
	hash = (hash ^ hash >> 32) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 32;
}

static inline int has_words(const struct site *site, const struct key_words *words)
{
	struct key_words own = words_of(&site->key);

	return own.where == words->where && own.what == words->what;
}

/* Returns the slot of the key, or the free slot for it. */
static uint32_t *find_slot(const struct attribution *attribution, const struct site_key *key)
{
	struct key_words words = words_of(key);
	uint32_t mask = attribution->slots - 1;
	uint32_t at = (uint32_t)hash_words(&words) & mask;

	while (attribution->slot[at] && !has_words(&attribution->site[attribution->slot[at]], &words))
		at = (at + 1) & mask;
	return &attribution->slot[at];
}

static int grow_sites(struct attribution *attribution)
{
	size_t room = (size_t)attribution->site_room * 2;
	struct site *site = realloc(attribution->site, room * sizeof(*site));

	if (!site)
		return -MT_E_MEMORY;
	attribution->site = site;
	attribution->site_room = (uint32_t)room;
	return 0;
}

static void fill_slots(struct attribution *attribution)
{
	uint32_t i;

	for (i = 1; i < attribution->sites; i++)
		*find_slot(attribution, &attribution->site[i].key) = i;
}

/* Doubles the table. At most half of the slots are used: searches stay short. */
static int grow_slots(struct attribution *attribution)
{
	uint32_t *old = attribution->slot, slots = attribution->slots * 2;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -MT_E_MEMORY;
	attribution->slot = slot;
	attribution->slots = slots;
	fill_slots(attribution);
	free(old);
	return 0;
}

uint32_t attribution_site(struct attribution *attribution, const struct site_key *key)
{
	uint32_t *slot = find_slot(attribution, key);
	struct site *site;

	if (*slot)
		return *slot;
	if (attribution->sites >= UINT32_MAX / 4)
		return 0;
	if (attribution->sites == attribution->site_room && grow_sites(attribution))
		return 0;
	if (attribution->sites * 2 >= attribution->slots) {
		if (grow_slots(attribution))
			return 0;
		slot = find_slot(attribution, key);
	}
	site = &attribution->site[attribution->sites];
	memset(site, 0, sizeof(*site));
	site->key = *key;
	site->turn = attribution->turn;
	*slot = attribution->sites;
	return attribution->sites++;
}

/* Bytes can be on another device than their event names (memory of a peer). The twin site counts such bytes on their own device. */
static uint32_t make_twin(struct attribution *attribution, uint32_t device, uint32_t number)
{
	struct site_key key = attribution->site[number].key;
	uint32_t owner = attribution->site[number].owner, twin;

	key.device = device;
	twin = attribution_site(attribution, &key);
	if (twin)
		attribution->site[twin].owner = owner;
	return twin;
}

uint32_t attribution_move(struct attribution *attribution, uint32_t device, uint32_t site, int slack, int64_t bytes)
{
	struct attribution_device *where = &attribution->device[device];
	struct site *held;

	if (attribution->site[site].key.device != device)
		site = make_twin(attribution, device, site);
	if (!site) {
		attribution->failed = 1;
		return 0;
	}
	held = attribution_touch(attribution, site);
	if (slack)
		held->tensors_seen = 1;
	*(slack ? &held->now.slack : &held->now.plain) += (uint64_t)bytes;
	where->held += (uint64_t)bytes;
	if (!where->dirty) {
		where->dirty = 1;
		attribution->dirty[attribution->dirty_count++] = device;
	}
	return site;
}

void attribution_peak(struct attribution *attribution, uint32_t device)
{
	attribution->device[device].peak = attribution->device[device].held;
	attribution->device[device].epoch++;
}

int attribution_reorder(struct attribution *attribution, const uint32_t *site, const uint32_t *device)
{
	struct site *sites = calloc(attribution->site_room, sizeof(*sites));
	struct attribution_device *devices = calloc((size_t)attribution->devices + 1, sizeof(*devices));
	uint32_t i;

	if (!sites || !devices) {
		free(sites);
		free(devices);
		return -MT_E_MEMORY;
	}
	for (i = 1; i < attribution->sites; i++) {
		sites[i] = attribution->site[site[i]];
		sites[i].key.device = device[sites[i].key.device];
	}
	for (i = 0; i < attribution->devices; i++)
		devices[device[i]] = attribution->device[i];
	free(attribution->site);
	free(attribution->device);
	attribution->site = sites;
	attribution->device = devices;
	memset(attribution->slot, 0, attribution->slots * sizeof(*attribution->slot));
	fill_slots(attribution);
	return 0;
}

void attribution_split(struct attribution *attribution, uint32_t site, uint32_t twin, uint64_t count, uint64_t bytes)
{
	struct site *from = attribution_touch(attribution, site), *to = attribution_touch(attribution, twin);

	from->saved.count -= count;
	from->saved.plain -= bytes;
	to->saved.count += count;
	to->saved.plain += bytes;
}

struct site_bytes attribution_at_peak(const struct attribution *attribution, uint32_t number)
{
	const struct site *site = &attribution->site[number];
	uint64_t epoch = attribution->device[site->key.device].epoch;
	struct site_bytes at_peak = site->saved_epoch < epoch ? site->now : site->saved;

	if (!epoch)
		memset(&at_peak, 0, sizeof(at_peak));
	if (site->tensors_seen) {
		at_peak.slack += at_peak.plain;
		at_peak.plain = 0;
	}
	return at_peak;
}
