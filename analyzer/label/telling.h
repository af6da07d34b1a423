/*
 * telling.h - the names of a program's modules over time, from the INSTANCE_NAME events of a process.
 *
 * A telling is one look of the recorder at all modules. A name holds between two tellings that agree:
 *
 *     telling           1           2           3
 *     address 0x7a      layers.0    layers.0    (absent)
 *     address 0x7b                  layers.1    head
 *
 *     before 1          layers.0, no name
 *     from 1 to 2       layers.0, layers.1
 *     from 2 to 3       no name, no name
 *     after 3           no name, head
 *
 * A telling that ended early proves nothing about the addresses that it does not mention. An address with more than TELLING_NAMES_MAX names has no
 * name: several objects have used the address. Memory: one run for each change of an address's name, not for each telling.
 */
#ifndef MEMANA_TELLING_H
#define MEMANA_TELLING_H

#include <stdint.h>
#include "memtrace/event.h"

#define TELLING_NAMES_MAX 64u

/* A name of a module, as string ids of the process. Both 0: no name. */
struct telling_name {
	uint32_t model; /* outermost module: "Sequential#1" */
	uint32_t name;  /* name in the model: "layers.0.fc1"; the id of "": the model itself */
};

/* Consecutive tellings with one name for an address. */
struct telling_run {
	struct telling_name name;
	uint32_t first, last; /* numbers of the tellings */
	uint32_t before;      /* earlier run of the same address; 0: none */
};

struct telling_look {
	uint64_t begin;        /* seq of the first event of the telling */
	uint64_t told;         /* number of events with an address */
	uint32_t number;       /* number of the telling in its events */
	uint32_t whole_before; /* number of complete tellings before this one */
	int is_whole;          /* 1: its end was recorded, and no event is missing */
};

struct telling_address {
	uint64_t address; /* 0: the slot is free */
	uint32_t run;     /* newest run of the address */
	uint32_t names;
};

/* The tellings of a process. Callers may read all members. All zero: no telling. */
struct tellings {
	struct telling_look *telling;
	uint32_t tellings, telling_room;
	struct telling_run *run; /* run[0] is not used */
	uint32_t runs, run_room;
	struct telling_address *slot; /* a hash table */
	uint32_t slots, used;
};

/* Takes one INSTANCE_NAME event, in the order of seq. Returns 0 or -MT_E_MEMORY. */
int tellings_add(struct tellings *tellings, const struct mt_event *event);
void tellings_release(struct tellings *tellings);

/* Finds the name of the address between the events `first` and `last` (seq). Returns 1; 0: no name held in all this time. */
int tellings_name(const struct tellings *tellings, uint64_t address, uint64_t first, uint64_t last,
		  struct telling_name *name);

/* Whether any telling mentions the address. */
int tellings_mention(const struct tellings *tellings, uint64_t address);

#endif
