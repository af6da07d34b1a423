/*
 * nvtx_abi.h - the part of NVTX's injection interface that memrec uses, declared by hand with own names.
 *
 * From the public NVTX 3 headers (nvToolsExt.h, nvtxTypes.h); the numbers never change.
 */
#ifndef RECORDER_NVTX_ABI_H
#define RECORDER_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1 };                    /* NvtxExportTableID */
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 }; /* NvtxCallbackModule */
enum { NVTX_NOT_TRACKED = -2 };                       /* result of push and pop without a tool that counts levels */
enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };

/* Functions of the core module: X(our function, index in the table). */
#define NVTX_CORE_LIST(X)   \
	X(nvtx_mark_ex, 1)  \
	X(nvtx_mark_a, 2)   \
	X(nvtx_mark_w, 3)   \
	X(nvtx_start_ex, 4) \
	X(nvtx_start_a, 5)  \
	X(nvtx_start_w, 6)  \
	X(nvtx_end, 7)      \
	X(nvtx_push_ex, 8)  \
	X(nvtx_push_a, 9)   \
	X(nvtx_push_w, 10)  \
	X(nvtx_pop, 11)

/* Functions of the core2 module (domains and registered strings). */
#define NVTX_CORE2_LIST(X)          \
	X(nvtx_domain_mark, 1)      \
	X(nvtx_domain_start, 2)     \
	X(nvtx_domain_end, 3)       \
	X(nvtx_domain_push, 4)      \
	X(nvtx_domain_pop, 5)       \
	X(nvtx_register_a, 10)      \
	X(nvtx_register_w, 11)      \
	X(nvtx_domain_create_a, 12) \
	X(nvtx_domain_create_w, 13)

/* nvtxEventAttributes_t; `bytes`: size of the caller's struct. */
struct nvtx_attributes {
	uint16_t version, bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered; /* result of register */
	} message;
};

typedef void nvtx_function(void); /* to be cast */

/* NvtxExportTableCallbacks */
struct nvtx_callbacks {
	size_t bytes;
	/* *table: `size` pointers to the places of NVTX's functions, by index. 1: success. */
	int (*module)(int module, nvtx_function ****table, unsigned int *size);
};

typedef const void *nvtx_get_table(uint32_t id);

/* ---- The payload extension (nvToolsExtPayload.h): a range that was pushed plainly may be popped with a payload. ---- */

enum { NVTX_EXTENSION_PAYLOAD = 2 }; /* NVTX_EXT_PAYLOAD_MODULEID */

/* X(our function, slot). A slot without a function does nothing. */
#define NVTX_PAYLOAD_LIST(X)     \
	X(nvtx_payload_push, 3)  \
	X(nvtx_payload_pop, 4)   \
	X(nvtx_payload_start, 5) \
	X(nvtx_payload_end, 6)

/* nvtxExtModuleSegment_t */
struct nvtx_segment {
	size_t id, count;
	intptr_t *slots; /* the program's: `count` addresses of functions */
};

/* nvtxExtModuleInfo_t */
struct nvtx_extension {
	uint16_t version, bytes, id, compatible;
	size_t segments;
	const struct nvtx_segment *segment;
	void *get_export;
	const void *types;
};

#endif
