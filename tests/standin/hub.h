/*
 * hub.h - connects the stand-in's libcupti and libcuda: libcupti writes subscribers into the hub that libcuda exports,
 * and libcuda calls them. (The real pair uses private tables, which are not imitated.)
 */
#ifndef STANDIN_HUB_H
#define STANDIN_HUB_H

#include <pthread.h>
#include <stdatomic.h>
#include "agent/cuda/cuda_abi.h"

#define HUB_SYMBOL "standin_hub"
#define HUB_SUBSCRIBERS 4u
#define HUB_IDS 877u     /* CUPTI_DRIVER_TRACE_CBID_SIZE of 13.5 */
#define HUB_RESOURCES 3u /* contexts that are created and end */
#define HUB_STATES 2u    /* fatal errors */

/* A slot's memory is never freed, because a callback may still run in it after the unsubscribe. */
struct cupti_subscriber {
	_Atomic int active;
	int v2, allow_multiple;
	cupti_callback callback; /* function of libcupti, which calls the tool's callback */
	void *user;              /* this slot */
	cupti_callback tool_callback;
	void *tool_user;
	char name[CUPTI_OLD_NAME_BYTES];
	_Atomic unsigned char enabled[HUB_IDS];                           /* driver domain */
	_Atomic unsigned char resource[HUB_RESOURCES], state[HUB_STATES]; /* other domains have no callbacks */
	_Atomic int inside;                                               /* number of running calls of `callback` */
};

struct account;

struct standin_hub {
	pthread_mutex_t lock; /* for subscribing, not for firing */
	struct cupti_subscriber subscriber[HUB_SUBSCRIBERS];
	int (*has_gpu)(void);
	int (*context_device)(struct cuda_context
				      *context); /* ordinal; NULL: of the thread's context; -1: no such context */
	uint32_t (*context_uid)(struct cuda_context *context); /* 0: no such context */
	struct account *(*account)(unsigned int gpu);          /* account of physical GPU `gpu` */
};

#endif
