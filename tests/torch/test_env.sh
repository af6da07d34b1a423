# The text of memrec env for verl, read by the Hydra that verl uses.
. "$SRC/tests/cli/lib.sh"
"$PYTHON" -c 'import hydra' 2>/dev/null || skip "no hydra-core beside torch"
mkdir config
cat >config/ppo_trainer.yaml <<'END'
ray_kwargs:
  ray_init:
    num_cpus: null
  timeline_json_file: null
END
composed() {
	eval "set -- $("$memrec" env --steps 3 --step-mark 'it is, ${x}' -o '/runs/a b/trace.zst' verl | grep -v '^#')"
	"$PYTHON" - "$BUILD/libmemrec.so" "$@" <<-'END'
		import os, sys
		from hydra import compose, initialize_config_dir
		from omegaconf import OmegaConf
		with initialize_config_dir(os.path.abspath("config"), version_base=None):
		    config = compose("ppo_trainer", overrides=sys.argv[2:])
		given = OmegaConf.to_container(config.ray_kwargs.ray_init.runtime_env, resolve=True)
		library, options = sys.argv[1], given["env_vars"].pop("MEMREC_OPTIONS")
		assert given == {"env_vars": {"CUDA_INJECTION64_PATH": library, "NVTX_INJECTION64_PATH": library}}, given
		assert "steps:3" in options.split("+") and "output:/runs/a%20b/trace.%25h.%25p.zst" in options.split("+"), options
	END
}
check "verl's configuration takes the overrides" composed
