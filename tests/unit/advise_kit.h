/* advise_kit.h - a run, and what is set in it, for tests of advice about settings. */
#ifndef ADVISE_KIT_H
#define ADVISE_KIT_H

#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/knobs.h"
#include "report/settings/advise_config.h"
#include "test.h"

static struct mt_knobs *knobs;
static struct db *db;
static struct advise_config *config;

static inline void run_sql(const char *sql)
{
	CHECK_EQ(db_execute(db, sql), 0);
}

/* A run of one process: its command line, and Python files with the places in call stacks. */
static inline void begin_run(const char *command)
{
	char sql[8192], message[256];

	CHECK_EQ(mt_knobs_new(&knobs, message, sizeof(message)), 0);
	CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
	CHECK_EQ(advise_config_new(&config, knobs), 0);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO process VALUES (1, 'x', 1, 1, 0, 'h', 'b', '%s', '', '3.12', '0', 0, 0, 0, 0, 0, 0, 0, 0, 0, "
		 "0, 0, 1, NULL, NULL, NULL, 0, 'memrec', 1, 1, 0, NULL, NULL)",
		 command);
	run_sql(sql);
}

static inline void add_frame(int id, const char *file, int places)
{
	char sql[1024];
	int i;

	snprintf(sql, sizeof(sql), "INSERT INTO frame VALUES (%d, 'python', 'f', '%s', 1, NULL, NULL)", id, file);
	run_sql(sql);
	snprintf(sql, sizeof(sql), "INSERT INTO stack_node VALUES (NULL, NULL, %d, NULL)", id);
	for (i = 0; i < places; i++)
		run_sql(sql);
}

static inline void choose(const char *wanted)
{
	CHECK_EQ(advise_config_framework(config, db, wanted), 0);
}

static inline void begin(const char *framework)
{
	begin_run("");
	choose(framework);
}

static inline void end_run(void)
{
	advise_config_free(config);
	mt_knobs_free(knobs);
	db_close(db);
}

static inline const struct mt_knob *knob_of(const char *framework, const char *key)
{
	const struct mt_knob_file *file = mt_knobs_find(knobs, framework);
	uint32_t i;

	for (i = 0; i < file->knobs; i++)
		if (!strcmp(file->knob[i].name.key, key))
			return &file->knob[i];
	printf("# no knob %s\n", key);
	CHECK(0);
	return NULL;
}

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."

/* The present value of a knob of the main framework. */
static inline void check_now(const char *key, const char *value, const char *where)
{
	struct advise_value now = advise_config_value(config, knob_of(config->part[0].file->framework, key));

	CHECK_STR(now.text, value);
	CHECK_STR(now.where, where);
}

/* volcengine/verl examples/grpo_trainer/run_qwen2-7b_seq_balance.sh, shortened, as /proc/self/cmdline has it. */
static const char verl_command[] =
	"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=['/d/a.parquet', '/d/b.parquet'] "
	"data.train_batch_size=1024 data.max_response_length=1024 data.truncation=error "
	"actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.actor.use_dynamic_bsz=True "
	"actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24000 actor_rollout_ref.actor.kl_loss_type=low_var_kl "
	"actor_rollout_ref.model.enable_gradient_checkpointing=True ++actor_rollout_ref.model.use_liger=True "
	"actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.rollout.n=5 "
	"actor_rollout_ref.rollout.gpu_memory_utilization=0.6 actor_rollout_ref.rollout.cudagraph_capture_sizes=[1, 2, 4] "
	"+actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_dtype=fp8 "
	"+actor_rollout_ref.rollout.engine_kwargs.vllm.max_logprobs=5 ~actor_rollout_ref.rollout.max_model_len "
	"trainer.logger=[\"console\",\"wandb\"]";

#endif
