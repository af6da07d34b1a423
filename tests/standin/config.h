/* config.h - the settings of the STANDIN_ variables, read once at the first use. The list below has all of them. */
#ifndef STANDIN_CONFIG_H
#define STANDIN_CONFIG_H

#include <stdint.h>

/* Numbers: X(member, variable, default). Sizes may end in KiB, MiB, GiB or TiB. */
#define STANDIN_NUMBER_LIST(X)                                                                                 \
	X(gpus, "STANDIN_GPUS", 1)                                                                             \
	X(memory, "STANDIN_MEM", 80ull << 30)       /* bytes of each GPU */                                    \
	X(reserved, "STANDIN_RESERVED", 0)          /* bytes of each GPU for the driver itself, in addition */ \
	X(context, "STANDIN_CONTEXT", 400ull << 20) /* bytes a context takes */                                \
	X(slow_ns, "STANDIN_SLOW_NS", 0)                                                                       \
	X(sync_ns, "STANDIN_SYNC_NS", 0)                                                                       \
	X(driver, "STANDIN_DRIVER", 13050) /* driver version, as of cuDriverGetVersion */                      \
	X(v2_subscribers, "STANDIN_V2_SUBSCRIBERS", 0)                                                         \
	X(cupti_version, "STANDIN_CUPTI_VERSION", 0) /* as of cuptiGetVersion; 0: by the other settings */     \
	X(unsubscribe_waits, "STANDIN_UNSUBSCRIBE_WAITS", 0)                                                   \
	X(oom_at, "STANDIN_FAULT_OOM_AT", 0)                                                                   \
	X(fatal_at, "STANDIN_FAULT_FATAL_AT", 0)                                                               \
	X(silent, "STANDIN_FAULT_SILENT", 0)                                                                   \
	X(no_resource, "STANDIN_FAULT_NO_RESOURCE", 0)                                                         \
	X(no_device_id, "STANDIN_FAULT_NO_DEVICE_ID", 0)                                                       \
	X(null_context, "STANDIN_FAULT_NULL_CONTEXT", 0)                                                       \
	X(unknown_id, "STANDIN_FAULT_UNKNOWN_CBID", 0)

/* Texts: X(member, variable); NULL when not set. */
#define STANDIN_TEXT_LIST(X)              \
	X(ledger, "STANDIN_LEDGER")       \
	X(state, "STANDIN_STATE")         \
	X(nvml, "STANDIN_FAULT_NVML")     \
	X(cupti_log, "STANDIN_CUPTI_LOG") \
	X(subscribed, "STANDIN_FAULT_SUBSCRIBED")

struct standin_config {
#define STANDIN_NUMBER_MEMBER(member, variable, def) uint64_t member;
	STANDIN_NUMBER_LIST(STANDIN_NUMBER_MEMBER)
#undef STANDIN_NUMBER_MEMBER
#define STANDIN_TEXT_MEMBER(member, variable) const char *member;
	STANDIN_TEXT_LIST(STANDIN_TEXT_MEMBER)
#undef STANDIN_TEXT_MEMBER
};

#define STANDIN_GPUS_MAX 16u
#define STANDIN_NAME "Stand-in GPU"

/* Never NULL. A variable that makes no sense ends the program with a message: a test must not run on a typing error. */
const struct standin_config *standin_config(void);

/* Makes the 16 bytes of a GPU's UUID, and NVML's text of it ("GPU-xxxxxxxx-xxxx-..."). */
#define STANDIN_UUID_TEXT 41u
void standin_uuid(unsigned int gpu, unsigned char bytes[16]);
void standin_uuid_text(unsigned int gpu, char text[STANDIN_UUID_TEXT]);

#endif
