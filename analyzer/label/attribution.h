/*
 * attribution.h - who held the bytes at the moment of the peak, in one pass and without keeping history.
 *
 * A site is one place that bytes come from: a stack of a process on a device, the phase and the category. Each site
 * counts what it holds now. A new peak of a device raises its epoch. A site writes its counters down only before its
 * first change in an epoch:
 *
 *     device   40  61 (epoch 7)  58  59  60 ...            never above 61 again
 *     site A   12  12            12  12  12                never touched: the bytes now are the bytes at the peak
 *     site B    3   9             6   7   8                at 6: "epoch 7: 9" was written down first
 *
 * A change costs O(1). At the end each site knows exactly the bytes that the site held at the peak.
 */
#ifndef MEMANA_ATTRIBUTION_H
#define MEMANA_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* The key of a site. Two allocations with the same key belong to the same site. */
struct site_key {
	uint32_t process; /* the caller's number */
	uint32_t device;  /* the caller's number, below the count given with attribution_device */
	uint32_t stack;   /* stack node of the process, 0: none */
	uint8_t phase;    /* enum mt_phase */
	uint8_t category; /* enum mt_category */
	uint8_t driver;   /* 1: driver memory, 0: a tensor */
	uint8_t size;     /* number of a size class, chosen by the caller; 0: none */
};

/* Bytes and allocations. Slack is driver memory that tensors lie in but do not fill. */
struct site_bytes {
	uint64_t plain, slack, count;
};

struct site {
	struct site_key key;
	uint32_t owner;   /* owner number, set by the caller; 0 when new */
	int tensors_seen; /* 1: its driver memory has ever had tensors: all of it is slack, at any time */
	struct site_bytes now;
	struct site_bytes saved; /* as of saved_epoch */
	uint64_t saved_epoch;
	int64_t turn; /* turn in which the site was made */
};

struct attribution_device {
	uint64_t held, peak; /* bytes of all sites */
	uint64_t epoch;      /* number of the peak that stands */
	int dirty;           /* changed since the last attribution_next_dirty */
};

/* Callers may read the fields. Only the functions change them. */
struct attribution {
	struct site *site; /* site[0] is not used */
	uint32_t sites;    /* used entries of `site`, with entry 0 */
	uint32_t site_room;
	uint32_t *slot; /* hash table of site numbers, 0: free */
	uint32_t slots; /* a power of two */
	struct attribution_device *device;
	uint32_t devices;
	uint32_t *dirty; /* device numbers */
	uint32_t dirty_count;
	int64_t turn; /* turn that new sites get, set by the caller */
	int failed;   /* out of memory inside attribution_move (it returns no error) */
};

int attribution_init(struct attribution *attribution); /* 0 or -MT_E_MEMORY */
void attribution_release(struct attribution *attribution);

/* Makes room for one more device. Returns the device's number, or -MT_E_MEMORY. */
int attribution_device(struct attribution *attribution);

/*
 * Returns the number of the site with this key, and makes the site if it is new. 0: out of memory. May move
 * `attribution->site`.
 */
uint32_t attribution_site(struct attribution *attribution, const struct site_key *key);

/*
 * Adds `bytes` (or takes them off, if negative) to `site` on `device`. If the site belongs to another device, its twin
 * on `device` gets the bytes. Returns the site that got the bytes, 0: out of memory.
 */
uint32_t attribution_move(struct attribution *attribution, uint32_t device, uint32_t site, int slack, int64_t bytes);

/* Saves the counters of a site before its first change since the peak. */
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

/* After an event: the next device that changed, or -1 when there are no more. */
static inline int attribution_next_dirty(struct attribution *attribution)
{
	uint32_t device;

	if (!attribution->dirty_count)
		return -1;
	device = attribution->dirty[--attribution->dirty_count];
	attribution->device[device].dirty = 0;
	return (int)device;
}

/* Makes the bytes held now the peak of the device. */
void attribution_peak(struct attribution *attribution, uint32_t device);

/*
 * Gives sites and devices new numbers. `site` has the old number by the new one (site[0] is 0). `device` has the new
 * number by the old one. Afterwards no device is dirty. Returns 0 or -MT_E_MEMORY: nothing has changed.
 */
int attribution_reorder(struct attribution *attribution, const uint32_t *site, const uint32_t *device);

/*
 * At the end: moves `count` allocations and their `bytes` of the peak from `site` to `twin`, a new site on the same
 * device.
 */
void attribution_split(struct attribution *attribution, uint32_t site, uint32_t twin, uint64_t count, uint64_t bytes);

/* Returns the bytes that the site held at the peak of its device. All bytes are slack where tensors_seen is set. */
struct site_bytes attribution_at_peak(const struct attribution *attribution, uint32_t site);

#endif
