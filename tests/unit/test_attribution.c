/* Sites at the peak: the epoch bookkeeping against a model that copies everything at every peak. */
#include "label/attribution.h"
#include "label/owner.h"
#include "memtrace/phase.h"
#include "test.h"
#include "trace_builder.h"

#define DEVICES 3
#define SITES 40
#define ROUNDS 20000

struct model {
	uint64_t held[DEVICES], peak[DEVICES];
	struct site_bytes now[SITES], at_peak[SITES];
};

static struct site_key key_of(uint32_t i)
{
	return (struct site_key){ .process = i % 2,
				  .device = i % DEVICES,
				  .stack = i / 4,
				  .phase = (uint8_t)(i % 5),
				  .category = (uint8_t)(i / 8) };
}

/* One change of a random site, in both. Returns its device. */
static uint32_t change(struct attribution *attribution, const uint32_t *site, struct model *model)
{
	uint32_t i = (uint32_t)(random() % SITES), device = i % DEVICES;
	struct site_bytes *now = &model->now[i];
	/* Slack only at every fourth site, which then never has anything else. */
	uint64_t *bytes = i % 4 == 0 ? &now->slack : &now->plain;
	int64_t step = random() % 1000;

	if (random() % 2 && *bytes)
		step = -(int64_t)(1 + (uint64_t)random() % *bytes);
	*bytes += (uint64_t)step;
	model->held[device] += (uint64_t)step;
	now->count += step > 0;
	attribution_move(attribution, device, site[i], i % 4 == 0, step);
	attribution_count(attribution, site[i], step > 0);
	return device;
}

static void remember_peak(struct model *model, uint32_t device)
{
	uint32_t i;

	model->peak[device] = model->held[device];
	for (i = device; i < SITES; i += DEVICES)
		model->at_peak[i] = model->now[i];
}

static void compare(const struct attribution *attribution, const uint32_t *site, const struct model *model)
{
	struct site_bytes at_peak;
	uint64_t sum[DEVICES] = { 0 };
	uint32_t i;

	for (i = 0; i < SITES; i++) {
		at_peak = attribution_at_peak(attribution, site[i]);
		CHECK_EQ(at_peak.plain, model->at_peak[i].plain);
		CHECK_EQ(at_peak.slack, model->at_peak[i].slack);
		CHECK_EQ(at_peak.count, model->at_peak[i].count);
		sum[i % DEVICES] += at_peak.plain + at_peak.slack;
	}
	for (i = 0; i < DEVICES; i++) {
		CHECK_EQ(attribution->device[i].peak, model->peak[i]);
		CHECK_EQ(sum[i], model->peak[i]);
	}
}

TEST(sites_at_the_peak_are_exact)
{
	struct attribution attribution;
	struct model model = { 0 };
	uint32_t site[SITES], i, device;
	struct site_key key;
	int round, dirty;

	srandom(1);
	CHECK_EQ(attribution_init(&attribution), 0);
	for (i = 0; i < DEVICES; i++)
		CHECK_EQ(attribution_device(&attribution), i);
	for (i = 0; i < SITES; i++) {
		key = key_of(i);
		site[i] = attribution_site(&attribution, &key);
	}
	for (round = 0; round < ROUNDS; round++) {
		device = change(&attribution, site, &model);
		dirty = attribution_next_dirty(&attribution);
		if (dirty >= 0)
			CHECK_EQ(dirty, device);
		if (model.held[device] > model.peak[device]) {
			attribution_peak(&attribution, device);
			remember_peak(&model, device);
		}
		if (round % 1000 == 0)
			compare(&attribution, site, &model);
	}
	compare(&attribution, site, &model);
	attribution_release(&attribution);
}

TEST(the_same_key_is_the_same_site)
{
	struct attribution attribution;
	struct site_key key = { .process = 0 };
	uint32_t i;

	CHECK_EQ(attribution_init(&attribution), 0);
	for (i = 0; i < 5000; i++) {
		key.stack = i;
		CHECK_EQ(attribution_site(&attribution, &key), i + 1);
	}
	for (i = 0; i < 5000; i++) {
		key.stack = i;
		CHECK_EQ(attribution_site(&attribution, &key), i + 1);
	}
	CHECK_EQ(attribution.sites, 5001);
	attribution_release(&attribution);
}

TEST(all_of_a_site_is_slack_once_tensors_were_inside)
{
	struct attribution attribution;
	struct site_key key = { .driver = 1 };
	struct site_bytes at_peak;
	uint32_t site;

	CHECK_EQ(attribution_init(&attribution), 0);
	attribution_device(&attribution);
	site = attribution_site(&attribution, &key);
	attribution_move(&attribution, 0, site, 0, 100);
	attribution_peak(&attribution, 0);
	CHECK_EQ(attribution_at_peak(&attribution, site).plain, 100);
	attribution_move(&attribution, 0, site, 0, -100);
	attribution_move(&attribution, 0, site, 1, 60);
	at_peak = attribution_at_peak(&attribution, site);
	CHECK_EQ(at_peak.plain, 0);
	CHECK_EQ(at_peak.slack, 100);
	attribution_release(&attribution);
}

TEST(bytes_count_on_the_device_where_they_lie)
{
	struct attribution attribution;
	struct site_key key = { .device = 0 };
	uint32_t site;

	CHECK_EQ(attribution_init(&attribution), 0);
	attribution_device(&attribution);
	attribution_device(&attribution);
	site = attribution_site(&attribution, &key);
	attribution_move(&attribution, 1, site, 0, 70);
	attribution_peak(&attribution, 1);
	CHECK_EQ(attribution.device[0].held, 0);
	CHECK_EQ(attribution.device[1].held, 70);
	CHECK_EQ(attribution_at_peak(&attribution, site).plain, 0);
	CHECK_EQ(attribution_at_peak(&attribution, site + 1).plain, 70);
	CHECK_EQ(attribution.site[site + 1].key.device, 1);
	attribution_release(&attribution);
}

static const char *owner_of(const char *const *modules, size_t count)
{
	static char name[OWNER_NAME_MAX];
	struct builder builder = { .defs = mt_defs_new() };
	uint32_t node = 0;

	while (count--)
		node = builder_native(&builder, node, modules[count], 0x10);
	owner_of_stack(name, builder.defs, node);
	mt_defs_free(builder.defs);
	return name;
}

#define OWNER_OF(...) \
	owner_of((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

TEST(the_owner_is_the_library_that_called_the_driver)
{
	CHECK_STR(OWNER_OF("/usr/lib/libcuda.so.1", "/opt/lib/libnccl.so.2.18", "/usr/bin/python3"), "libnccl");
	CHECK_STR(OWNER_OF("/x/libmemrec.so", "/x/libcuda.so.1", "/x/libcudart.so.12", "/home/me/rl_step"), "rl_step");
	CHECK_STR(OWNER_OF("/x/libcudart-9335f6a2.so.12", "/x/torch/lib/libc10_cuda.so", "/usr/bin/python3"),
		  "pytorch");
	CHECK_STR(OWNER_OF("/x/libnvidia-ml.so.1", "/x/_C.cpython-311-x86_64-linux-gnu.so"), "_C");
	CHECK_STR(OWNER_OF("/x/libcudautils.so.1"), "libcudautils");
	CHECK_STR(OWNER_OF("/x/libgomp-a34b3233.so.1"), "libgomp");
	CHECK_STR(OWNER_OF("/usr/bin/python3.11"), "python3.11");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1"), "unknown");
	CHECK_STR(owner_of(NULL, 0), "unknown");
}

TEST(well_known_owners_have_one_name)
{
#define SITE "/venv/lib/python3.12/site-packages/"
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "nvidia/cublas/lib/libcublasLt.so.12", "/x/libcublas.so.12"),
		  "libcublas");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9"), "libcudnn");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "vllm/cumem_allocator.abi3.so", "/x/libc10_cuda.so"), "vllm cumem");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", "/x/libcudart.so.12", SITE "torch_memory_saver_hook_mode_preload.abi3.so",
			   "/x/libc10_cuda.so"),
		  "torch_memory_saver");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "nvidia/nvshmem/lib/libnvshmem_host.so.3", SITE "deep_ep_cpp.so"),
		  "nvshmem");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "deep_ep_cpp.cpython-312-x86_64-linux-gnu.so"), "deepep");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "triton/_C/libtriton.so"), "triton");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", "/home/me/.triton/cache/abc/cuda_utils.cpython-312-x86_64-linux-gnu.so"),
		  "triton");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1",
			   "/home/me/.cache/flashinfer/0.2/90a/cached_ops/batch_decode/batch_decode.so"),
		  "flashinfer");
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", SITE "cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so"), "cupy");
	/* A folder's name makes no library of a program. */
	CHECK_STR(OWNER_OF("/x/libcuda.so.1", "/home/me/triton/server"), "server");
#undef SITE
}

TEST(some_owners_have_one_purpose)
{
	CHECK_EQ(owner_purpose("libnccl"), MT_CATEGORY_NCCL);
	CHECK_EQ(owner_purpose("libcublas"), MT_CATEGORY_WORKSPACE);
	CHECK_EQ(owner_purpose("rl_step"), OWNER_ANY);
}

TEST_MAIN()
