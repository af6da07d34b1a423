# The kit for a machine with a GPU and little else: records, reports and finds symbols in a root with only the C
# library.
. "$SRC/tests/cli/lib.sh"
PATH=$PATH:/usr/sbin
kit=${KIT:-$BUILD-gpu-kit}
[ -e "$kit/memana" ] || skip "kit: it is made of the plain build only (make gpu-kit)"

# inside COMMAND...: in ./root, where the kit is /kit; /proc and /dev/null are the machine's.
inside() {
	unshare ${as_user:+-r} -m sh -c 'mount --rbind /proc root/proc && mount --bind /dev/null root/dev/null &&
		exec chroot root "$@"' sh "$@"
}
as_user=
[ "$(id -u)" = 0 ] || as_user=1
unshare ${as_user:+-r} -m true 2>/dev/null || skip "kit: no root here, and user namespaces are switched off"

# The root: what every machine with this C library has, and nothing else.
mkdir -p root/proc root/tmp root/dev root/kit root/standin
: >root/dev/null
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
	path=$(ldconfig -p | awk -v name="$library" '$1 == name && /x86-64/ { print $NF; exit }')
	[ -z "$path" ] || { mkdir -p "root$(dirname "$path")" && cp -L "$path" "root$path"; }
done
loader=$(readelf -l "$kit/memana" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
mkdir -p "root$(dirname "$loader")" && cp -L "$loader" "root$loader"
cp -r "$kit/." root/kit && cp "$standin"/* root/standin

check "kit: memrec starts" inside /kit/memrec --version
check "kit: memana starts" inside /kit/memana --version

record() {
	LD_LIBRARY_PATH=/standin inside /kit/memrec -o /tmp/t.zst -- /kit/samples/rl_step --steps 2 >said 2>&1 || { cat said; return 1; }
	cat said
	grep -q '^memrec: .*t.zst: .* 2 steps.*nothing lost' said && ! grep -qi 'without\|stacks are off' said
}
check "kit: it records, native stacks too" record
check "kit: verify" inside /kit/memana verify /tmp/t.zst
lines() { inside /kit/memana top --json /tmp/t.zst >top.json && json top.json \
	'{f["line"] > 0 for s in d["devices"][0]["sites"] for f in s["stack"] if f["file"] and f["file"].endswith("rl_step.c")} == {True}'; }
check "kit: places have lines" lines
events() { inside /kit/allocator/trace_events /tmp/t.zst >events && grep -q '^driver-alloc ' events; }
check "kit: trace_events" events
check "kit: the database" inside /kit/memana load /tmp/t.zst -o /tmp/t.db
injected() {
	LD_LIBRARY_PATH=/standin CUDA_INJECTION64_PATH=/kit/gpu/probe.so PROBE_OUT=/tmp/probe inside /kit/samples/rl_step --steps 1 >/dev/null &&
		grep -q '^DRV exit .* cuMemAlloc_v2 result 0 ' root/tmp/probe
}
check "kit: the probe" injected
