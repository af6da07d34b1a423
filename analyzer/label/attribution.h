/*
 * attribution.h - the bytes that each site held at the moment of the peak, found in one pass that keeps no history.
 *
 * A site is one source of bytes: a stack of a process on a device, with phase and category. Each site counts the bytes that it holds now. A new peak
 * of a device raises the device's epoch. A site saves its counters before its first change in an epoch:
 *
 *     device   40  61 (epoch 7)  58  59  60 ...            the peak stays 61
 *     site A   12  12            12  12  12                never changed: its bytes now are its bytes at the peak
 *     site B    3   9             6   7   8                before the change to 6, "epoch 7: 9" is saved
 *
 * A change costs O(1). At the end, each site has the exact bytes that it held at the peak.
 */
#ifndef MEMANA_ATTRIBUTION_H
#define MEMANA_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* The key of a site. Two allocations with the same key belong to the same site. */
struct site_key {
	uint32_t process; /* number that the caller gives */
	uint32_t device;  /* number that attribution_device gives */
	uint32_t stack;   /* stack node of the process, 0: none */
	uint8_t phase;    /* enum mt_phase */
	uint8_t category; /* enum mt_category */
	uint8_t driver;   /* 1: driver memory, 0: a tensor */
	uint8_t size;     /* number of a size class, chosen by the caller; 0: none */
};

/* Bytes and allocations. Slack is driver memory that has tensors inside but is not filled by them. */
struct site_bytes {
	uint64_t plain, slack, count;
};

struct site {
	struct site_key key;
	uint32_t owner;   /* owner number, set by the caller; 0 when new */
	int tensors_seen; /* 1: the site's driver memory has had tensors inside: all of it counts as slack, at any time */
	struct site_bytes now;
	struct site_bytes saved; /* counters before the first change in saved_epoch */
	uint64_t saved_epoch;
	int64_t turn; /* turn in which the site was made */
};

struct attribution_device {
	uint64_t held, peak; /* bytes of all sites: now, at the peak */
	uint64_t epoch;      /* number of the current peak */
	int dirty;           /* 1: changed since the last attribution_next_dirty */
};

/* The sites of an analysis. Callers may read all members; only these functions change them. */
struct attribution {
	struct site *site; /* site[0] is not used */
	uint32_t sites;    /* number of entries of `site`, with entry 0 */
	uint32_t site_room;
	uint32_t *slot; /* hash table of site numbers; 0: the slot is free */
	uint32_t slots; /* a power of two */
	struct attribution_device *device;
	uint32_t devices;
	uint32_t *dirty; /* numbers of the devices that changed */
	uint32_t dirty_count;
	int64_t turn; /* turn of new sites, set by the caller */
	int failed;   /* 1: memory ran out in attribution_move */
};

int attribution_init(struct attribution *attribution); /* Returns 0 or -MT_E_MEMORY. */
void attribution_release(struct attribution *attribution);

/* Makes room for one more device. Returns the device's number, or -MT_E_MEMORY. */
int attribution_device(struct attribution *attribution);

/* Returns the number of the site with this key; adds the site if it is new. Returns 0: out of memory. May move `attribution->site`. */
uint32_t attribution_site(struct attribution *attribution, const struct site_key *key);

/*
 * Adds `bytes` to `site` on `device`; negative bytes are taken off. If the site is on another device, its twin on `device` gets the bytes. Returns
 * the site that got the bytes; 0: out of memory.
 */
uint32_t attribution_move(struct attribution *attribution, uint32_t device, uint32_t site, int slack, int64_t bytes);

/* Saves the counters of a site before its first change in the epoch. */
static inline struct site *attribution_touch(struct attribution *attribution, uint32_t number)
{
	struct site *site = &attribution->site[number];
	uint64_t epoch = attribution->device[site->key.device].epoch;

	if (site->saved_epoch < epoch) {
		site->saved = site->now;
		site->saved_epoch = epoch;
	}
	return site;
}

/* Adds one allocation (+1) or removes one (-1). */
static inline void attribution_count(struct attribution *attribution, uint32_t site, int change)
{
	attribution_touch(attribution, site)->now.count += (uint64_t)change;
}

/* Returns, after an event, the next device that changed; -1: no more devices. */
static inline int attribution_next_dirty(struct attribution *attribution)
{
	uint32_t device;

	if (!attribution->dirty_count)
		return -1;
	device = attribution->dirty[--attribution->dirty_count];
	attribution->device[device].dirty = 0;
	return (int)device;
}

/* Makes the bytes that the device holds now its peak. */
void attribution_peak(struct attribution *attribution, uint32_t device);

/*
 * Gives sites and devices new numbers. `site`: old number by new number, site[0] is 0. `device`: new number by old number. Afterwards no device is
 * dirty. Returns 0 or -MT_E_MEMORY: nothing has changed.
 */
int attribution_reorder(struct attribution *attribution, const uint32_t *site, const uint32_t *device);

/* After the last event: moves `count` allocations with `bytes` of the peak from `site` to `twin`, a new site on the same device. */
void attribution_split(struct attribution *attribution, uint32_t site, uint32_t twin, uint64_t count, uint64_t bytes);

/* Returns the bytes that the site held at the peak of its device. All are slack if tensors_seen is set. */
struct site_bytes attribution_at_peak(const struct attribution *attribution, uint32_t site);

#endif
