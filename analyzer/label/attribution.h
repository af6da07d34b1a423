/*
 * attribution.h - who held the bytes at the moment of the peak, in one pass and without keeping history.
 *
 * A site is one place that bytes come from: a stack of a process on a device, the phase and the category. Each site
 * counts what it holds now. A new peak of a device raises its epoch. A site writes its counters down only before its
 * first change in an epoch:
 *
 *     device   40  61 (epoch 7)  58  59  60 ...            never above 61 again
 *     site A   12  12            12  12  12                never touched: what it holds now is what it held
 *     site B    3   9             6   7   8                at 6: "epoch 7: 9" was written down first
 *
 * So every site costs O(1) per change, and at the end each knows exactly what it held when the peak stood.
 */
#ifndef MEMANA_ATTRIBUTION_H
#define MEMANA_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* The key of a site: two allocations with the same key come from the same site. */
struct site_key {
	uint32_t process; /* the caller's number */
	uint32_t device;  /* the caller's number, below the count given with attribution_device */
	uint32_t stack;   /* stack node of the process, 0: none */
	uint8_t phase;    /* enum mt_phase */
	uint8_t category; /* enum mt_category */
	uint8_t driver;   /* 1: driver memory, 0: a tensor */
	uint8_t size;     /* the caller's number of a size that is told apart, 0: none */
};

/* Bytes and allocations; slack: driver memory that tensors live in but do not fill. */
struct site_bytes {
	uint64_t plain, slack, count;
};

struct site {
	struct site_key key;
	uint32_t owner;   /* the caller's, 0 when new */
	int tensors_seen; /* tensors have been inside its driver memory: all of it is slack, even before the first one
			   */
	struct site_bytes now;
	struct site_bytes saved; /* as of saved_epoch */
	uint64_t saved_epoch;
	int64_t turn; /* when it was made */
};

struct attribution_device {
	uint64_t held, peak; /* bytes of all sites */
	uint64_t epoch;      /* number of the peak that stands */
	int dirty;           /* changed since the last attribution_next_dirty */
};

/* Read freely, change through the functions. */
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
	int64_t turn; /* the caller's: new sites are given it */
	int failed;   /* out of memory inside attribution_move, which cannot say so */
};

int attribution_init(struct attribution *attribution); /* 0 or -MT_E_MEMORY */
void attribution_release(struct attribution *attribution);

/* Makes room for one more device. Its number, or -MT_E_MEMORY. */
int attribution_device(struct attribution *attribution);

/* The number of the site with this key, made if there was none. 0: out of memory. Moves `site`. */
uint32_t attribution_site(struct attribution *attribution, const struct site_key *key);

/*
 * `bytes` more (or fewer) held by `site` on `device`. A site of another device stands for its twin on this one. The
 * site whose bytes they are, 0: out of memory.
 */
uint32_t attribution_move(struct attribution *attribution, uint32_t device, uint32_t site, int slack, int64_t bytes);

/* Writes the counters of a site down when this is their first change since the peak. */
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

/* One allocation more (+1) or fewer (-1). */
static inline void attribution_count(struct attribution *attribution, uint32_t site, int change)
{
	attribution_touch(attribution, site)->now.count += (uint64_t)change;
}

/* After an event: a device that changed, or -1 when all have been asked for. */
static inline int attribution_next_dirty(struct attribution *attribution)
{
	uint32_t device;

	if (!attribution->dirty_count)
		return -1;
	device = attribution->dirty[--attribution->dirty_count];
	attribution->device[device].dirty = 0;
	return (int)device;
}

/* The bytes held now are the peak of the device from now on. */
void attribution_peak(struct attribution *attribution, uint32_t device);

/*
 * Numbers sites and devices anew. `site`: by the new number, what the old one was (site[0] is 0); `device`: by the old
 * number, what the new one is. No device is dirty. 0 or -MT_E_MEMORY: nothing was changed.
 */
int attribution_reorder(struct attribution *attribution, const uint32_t *site, const uint32_t *device);

/*
 * At the end: `count` allocations, of `bytes` together, that `site` held at the peak were those of `twin`, a new one on
 * the same device.
 */
void attribution_split(struct attribution *attribution, uint32_t site, uint32_t twin, uint64_t count, uint64_t bytes);

/* The bytes that the site held when the peak of its device stood. All of it is slack where tensors_seen. */
struct site_bytes attribution_at_peak(const struct attribution *attribution, uint32_t site);

#endif
