#!/usr/bin/env bash
# ray_workers.sh BUILD PYTHON - records two actors of a real Ray on the stand-in GPU, by the text of `memrec env ray` in
# ray.init and before `ray start`. PYTHON has Ray (pip install ray). No LD_PRELOAD reaches the actors. It ends with `ray stop`,
# which stops every Ray of this machine and user.
set -u
build=$(cd "$1" && pwd) python=$2 src=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d) && cd "$scratch" || exit 4
export RAY_TMPDIR=$scratch/ray RAY_AUTH_MODE=disabled STANDIN_MEM=80GiB
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cat >job.py <<'END'
import json, os, sys
import ray
given = json.loads(sys.argv[1])
ray.init(**({"runtime_env": {"env_vars": given}, "num_cpus": 2, "include_dashboard": False} if given else {"address": "auto"}))

@ray.remote
class Worker:
    def take(self, count, cli):
        sys.path.insert(0, cli)
        from gpu_driver import Driver
        driver = Driver()
        return [driver.take((i + 1) << 20) for i in range(count)] and "LD_PRELOAD" in os.environ

workers = [Worker.remote() for _ in range(2)]
sys.exit(any(ray.get([worker.take.remote(10 * (i + 1), sys.argv[2]) for i, worker in enumerate(workers)])))
END
# recorded WORDS: the two actors took 55 and 210 MiB.
recorded() {
	if [ "$("$build/memana" top --json --by process traces 2>/dev/null | "$python" -c '
import json, sys
print(sorted(p["bytes"] >> 20 for p in json.load(sys.stdin)["devices"][0]["by_process"]))')" = "[55, 210]" ]; then
		echo "ok $1"; passed=$((passed + 1))
	else
		echo "not ok $1"; failed=$((failed + 1)); ls traces; tail -5 log
	fi
	rm -rf traces
}
text() { "$build/memrec" env -o "$scratch/traces/t.%h.%p.zst" ray; }

mkdir traces
text | sed -n 's/^ray.init(runtime_env={"env_vars": \({.*}\)})$/\1/p' |
	sed "s#^{#{\"LD_LIBRARY_PATH\": \"$build/standin\", #" >given
"$python" job.py "$(cat given)" "$src/tests/cli" >log 2>&1
recorded "actors of ray.init"

mkdir traces
eval "$(text | grep '^export')"
LD_LIBRARY_PATH=$build/standin "$python" -m ray.scripts.scripts start --head --num-cpus 2 --include-dashboard=false --port 0 >log 2>&1
env -u CUDA_INJECTION64_PATH -u NVTX_INJECTION64_PATH -u MEMREC_OPTIONS "$python" job.py '{}' "$src/tests/cli" >>log 2>&1
"$python" -m ray.scripts.scripts stop >>log 2>&1
for _ in $(seq 600); do # the collectors of the actors that were stopped
	pgrep -f "memrec --collect .*memrec\." >/dev/null || break
	sleep 0.1
done
recorded "actors below ray start"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
