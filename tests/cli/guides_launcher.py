"""guides_launcher.py - acts as the launchers of docs/guides do, as far as a recording goes: the name that it is called by says which. It starts train.py with
an environment, ranks and processes as the launcher would give them.
"""
import json
import os
import re
import subprocess
import sys

name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
TRAIN = [os.environ["HOST_PYTHON"], os.path.join(os.environ["SRC"], "tests/cli/guides_train.py")]
BARE = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "MEMREC_OPTIONS", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")}


def run(command, **variables):
    return subprocess.run(command, env={**variables}, check=False).returncode


def option(word):
    """The value behind an option."""
    return words[words.index(word) + 1]


def program():
    """Words from the first one on that is no option of the launcher, nor the value of one."""
    at = 0
    while words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at].startswith("-N") else 2
    return words[at:]


def ranks(count, **variables):
    children = [subprocess.Popen(TRAIN, env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(count)]
    return max(child.wait() for child in children)


def start():
    if name == "torchrun":
        return ranks(int(option("--nproc-per-node")))
    if name == "srun":  # a daemon of the node starts the step
        return run(program(), **BARE, SLURM_JOB_ID="7", SLURM_STEP_ID="0")
    if name == "accelerate":
        assert words[:2] == ["launch", "train.py"], words
        return run(TRAIN, **os.environ)
    if name == "ray" and words[:2] == ["job", "submit"]:  # the daemon has an environment of its own
        given = json.loads(option("--runtime-env-json"))["env_vars"]
        assert words[words.index("--") + 1] == "python", words
        return run(TRAIN, **{**BARE, **given, "RAY_JOB_ID": "01000000"})
    if name == "ray" and words[0] == "start":  # a worker of the cluster, some time later
        return run(TRAIN, **os.environ)
    if name == "python" and "verl.trainer.main_ppo" in words:
        prefix = "+ray_kwargs.ray_init.runtime_env.env_vars."
        given = dict(word[len(prefix):].split("=", 1) for word in words if word.startswith(prefix))
        return run(TRAIN, **{**BARE, **{key: value.strip('"') for key, value in given.items()}})
    if name == "python" and "--train-env-vars" in words:
        return run(TRAIN, **{**BARE, **json.loads(option("--train-env-vars"))})
    if name == "python" and "--config" in words:  # the text for AReaL's YAML, pasted
        return run(TRAIN, **{**BARE, **dict(re.findall(r'^ +([A-Z0-9_]+): "(.*)"$', open("memrec.yaml").read(), re.M))})
    if name in ("python", "vllm", "trl"):
        return run(TRAIN, **os.environ)
    raise SystemExit(f"{name}: {words}")


sys.exit(start())
