/*
 * defs.h - definitions: the strings, modules, frames, stack nodes, threads and devices that events name by id.
 *
 * Ids are dense from 1 in order of definition, per kind; 0 means "none". A definition never changes and is
 * written once. A reader appends what the file holds; a writer interns (the same content gets the same id).
 *
 *     stack node 7 ──parent──> 4 ──parent──> 1 ──parent──> 0
 *        │ frame               │             │
 *        ▼                     ▼             ▼
 *     "backward" (python)   "train_step"   "<module>"       outermost frame has parent 0
 *
 * Every pointer handed out lives as long as the struct mt_defs.
 */
#ifndef MEMTRACE_DEFS_H
#define MEMTRACE_DEFS_H

#include <stddef.h>
#include <stdint.h>

/* X(NAME, number, struct or type) - number is the section id in definition chunks. */
#define MT_DEF_LIST(X) \
	X(STRING, 1)   \
	X(MODULE, 2)   \
	X(FRAME, 3)    \
	X(NODE, 4)     \
	X(THREAD, 5)   \
	X(DEVICE, 6)   \
	X(SYMBOL, 7)   \
	X(INSTANCE, 8) \
	X(NEST, 9)     \
	X(NESTED, 10)  \
	X(VARIANT, 11)

enum mt_def {
#define MT_DEF_ENUM(name, number) MT_DEF_##name = (number),
	MT_DEF_LIST(MT_DEF_ENUM)
#undef MT_DEF_ENUM
};

/* Limits of the format: a file that exceeds one is refused with -MT_E_LIMIT. */
#define MT_STRING_MAX 65536u           /* bytes of one string */
#define MT_DEFS_MAX (1u << 26)         /* definitions of one kind */
#define MT_STACK_DEPTH_MAX 1024u       /* frames in one stack */
#define MT_NEST_DEPTH_MAX 1024u        /* instances in one nest */
#define MT_BUILD_ID_MAX 32u            /* bytes */
#define MT_TEXT_BYTES_MAX (512u << 20) /* all strings together */
#define MT_DEFS_FEW_MAX (1u << 16)     /* modules, threads, devices: of each */

struct mt_module {
	uint32_t path;          /* string */
	uint32_t build_id_size; /* 0: has none */
	uint8_t build_id[MT_BUILD_ID_MAX];
	uint64_t start, end; /* its addresses in the process, bytes */
	uint64_t bias;       /* address in the process minus address in the ELF file (dlpi_addr) */
};

enum mt_frame_kind {
	MT_FRAME_PYTHON = 1, /* function, file and line are known */
	MT_FRAME_NATIVE = 2, /* module and offset are known; its name may come later, as a symbol */
	MT_FRAME_ELIDED = 3, /* frames beyond the depth limit were left out here */
};

struct mt_frame {
	uint32_t kind;     /* enum mt_frame_kind */
	uint32_t function; /* string: qualified name where Python has one, else the plain name */
	uint32_t file;     /* string */
	uint32_t line;     /* 0: unknown */
	uint32_t module;   /* native: module id, 0: unknown */
	uint32_t symbol;   /* string: name by the newest struct mt_symbol, 0: none; equal frames may differ in it */
	uint64_t offset;   /* native: return address minus 1, minus the module's bias (an address of the ELF file) */
};

/* The function around a native frame, as the symbol table of the frame's module names it: mangled where C++ is. */
struct mt_symbol {
	uint32_t frame; /* never 0 */
	uint32_t name;  /* string */
};

struct mt_node {
	uint32_t parent; /* towards the outermost frame; 0: this is the outermost */
	uint32_t frame;
	uint32_t nest; /* instances whose calls lead to this frame, if the frame is such a call; 0: as the parent */
};

/*
 * An object of the program that is a part of a model: a torch.nn.Module. Two objects of one class that had one address,
 * one after the other, are one instance.
 */
struct mt_instance {
	uint64_t address; /* the object, in the process */
	uint32_t type;    /* string: name of the class, without its module */
};

/* Calls of instances inside one another, outermost first: nest 3 = (nest 1 = (0, Transformer), EncoderLayer). */
struct mt_nest {
	uint32_t parent; /* 0: none around it */
	uint32_t instance;
};

/*
 * Links a stack node to its nest. The node is the call of an instance, or stands for elided frames with such calls. A
 * node has one nest at most. Traces from before VARIANT list their nests in this way.
 */
struct mt_nested {
	uint32_t node;
	uint32_t nest;
};

/*
 * A node inside of a nest. Callers use a variant like a node: ids and counts include variants, and the parent of a
 * variant is the variant of the node's parent. Only the file keeps the two apart.
 */
struct mt_variant {
	uint32_t parent; /* node that is a variant; 0: the node's own parent */
	uint32_t node;   /* a node that is no variant */
	uint32_t nest;   /* its own nest or the inherited one; never 0 */
};

enum mt_thread_flag {
	MT_THREAD_MAIN = 1,     /* the process's first thread */
	MT_THREAD_AUTOGRAD = 2, /* entered through torch::autograd::Engine::thread_init, or named pt_autograd_N */
};

struct mt_thread {
	uint32_t tid;
	uint32_t name; /* string */
	uint32_t flags;
};

enum mt_device_kind { MT_DEVICE_CPU = 0, MT_DEVICE_CUDA = 1 };

struct mt_device {
	uint32_t kind;  /* enum mt_device_kind */
	uint32_t index; /* ordinal in the process */
	uint32_t name;  /* string: "NVIDIA H100 80GB HBM3", "CPU"; 0: unknown */
	uint32_t uuid;  /* string, as NVML prints it; 0: unknown */
	uint64_t total; /* bytes, 0: unknown */
};

struct mt_defs;

struct mt_defs *mt_defs_new(void); /* NULL: out of memory */
void mt_defs_free(struct mt_defs *defs);

/* Number of definitions of `kind` (ids 1..count are valid). */
uint32_t mt_defs_count(const struct mt_defs *defs, enum mt_def kind);

/* Look-ups return NULL for id 0 and for undefined ids. mt_defs_string returns "" instead; its text ends in NUL. */
const char *mt_defs_string(const struct mt_defs *defs, uint32_t id);
size_t mt_defs_string_size(const struct mt_defs *defs, uint32_t id);
const struct mt_module *mt_defs_module(const struct mt_defs *defs, uint32_t id);
const struct mt_frame *mt_defs_frame(const struct mt_defs *defs, uint32_t id);
const struct mt_node *mt_defs_node(const struct mt_defs *defs, uint32_t id);
const struct mt_thread *mt_defs_thread(const struct mt_defs *defs, uint32_t id);
const struct mt_device *mt_defs_device(const struct mt_defs *defs, uint32_t id);
const struct mt_symbol *mt_defs_symbol(const struct mt_defs *defs, uint32_t id);
const struct mt_instance *mt_defs_instance(const struct mt_defs *defs, uint32_t id);
const struct mt_nest *mt_defs_nest(const struct mt_defs *defs, uint32_t id);
const struct mt_nested *mt_defs_nested(const struct mt_defs *defs, uint32_t id);

/*
 * Interns: returns the id of an equal definition, or of a new one. 0: out of memory or over a limit (the caller goes on
 * with "none"). `text` need not end in NUL and is copied; a text longer than MT_STRING_MAX is cut. Ids inside the
 * structs must be 0 or defined. Threads are equal by tid and name, devices by kind and index.
 */
uint32_t mt_defs_add_string(struct mt_defs *defs, const char *text, size_t size);
uint32_t mt_defs_add_module(struct mt_defs *defs, const struct mt_module *module);
uint32_t mt_defs_add_frame(struct mt_defs *defs, const struct mt_frame *frame);
uint32_t mt_defs_add_node(struct mt_defs *defs, uint32_t parent, uint32_t frame);
uint32_t mt_defs_add_node_in(struct mt_defs *defs, uint32_t parent, uint32_t frame,
			     uint32_t nest); /* nodes are equal if all three are equal */
uint32_t mt_defs_add_thread(struct mt_defs *defs, const struct mt_thread *thread);
uint32_t mt_defs_add_device(struct mt_defs *defs, const struct mt_device *device);
uint32_t mt_defs_add_symbol(struct mt_defs *defs, const struct mt_symbol *symbol);
uint32_t mt_defs_add_instance(struct mt_defs *defs, uint64_t address, uint32_t type);
uint32_t mt_defs_add_nest(struct mt_defs *defs, uint32_t parent, uint32_t instance);

#endif
