# memrec's last lines are right if processes cannot write to the folder of the run: memrec finds their traces by the
# run that they name.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
as_user=
[ "$(id -u)" = 0 ] || as_user=1
unshare ${as_user:+-r} -m true 2>/dev/null || skip "strays: no root here, and user namespaces are switched off"
export LD_LIBRARY_PATH=$standin
program="python3 $SRC/tests/cli/driver_calls.py --calls 200"

# A /dev/shm of its own, as in a container.
own_shm() {
	status 0 unshare ${as_user:+-r} -m "$memrec" -o own.zst -- unshare -m sh -c "mount -t tmpfs none /dev/shm && exec $program" &&
		grep -Eq '^memrec: own\.[0-9]+\.zst: .* [0-9]+ events, nothing lost' err && grep -q '^memrec: next: .* own\.' err && ! grep -q 'nothing was recorded' err &&
		"$memana" verify own.*.zst
}
check "strays: a process with a /dev/shm of its own" own_shm

# The folder of the run is full when the trace is done: there is no room for its result.
full_later() {
	status 0 unshare ${as_user:+-r} -m sh -c "mkdir -p small && mount -t tmpfs -o size=16m none small && exec \"\$@\"" sh \
		"$memrec" -o full.zst --ring-dir small -- $program --after fill-ring-dir &&
		grep -Eq '^memrec: full\.zst: .* [0-9]+ events, nothing lost' err && [ "$(grep -c full.zst: err)" = 1 ] && "$memana" verify full.zst
}
check "strays: the folder of the run is full in the end" full_later

# Another user from the beginning on, for whom the folder of the run is closed.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$BUILD/libmemrec.so" 2>/dev/null &&
	setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -c 'open("'"$SRC"'/tests/cli/driver_calls.py")' 2>/dev/null; then
	other="setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/$program"
	base=$(mktemp -d /tmp/memrec-strays.XXXXXX) # the scratch folder is closed to others
	trap 'rm -rf "$base"' EXIT
	chmod 711 "$base" && mkdir -m 755 "$base/closed" && mkdir -m 777 "$base/open" "$base/temporary"
	export TMPDIR=$base/temporary
	# Anybody could have written such a file: it is named, and not looked into.
	foreign() { grep -Eq "^memrec: $1: belongs to another user" err && ! grep -Eq '[0-9] events|next:' err && [ "$(wc -l <err)" = 1 ]; }
	open_folder() {
		(cd "$base/open" && status 0 "$memrec" -o other.zst -- $other && foreign 'other\.[0-9]+\.zst' && "$memana" verify other.*.zst)
	}
	check "strays: another user, who may write there" open_folder
	closed_folder() {
		(cd "$base/closed" && status 0 "$memrec" -o other.zst -- $other && foreign "$TMPDIR/memrec-trace\.[^/]*" &&
			"$memana" verify "$TMPDIR"/memrec-trace.*/other.*.zst || { cat err; ls -R "$base"; false; })
	}
	check "strays: another user, who may not: the trace is where he may, and that is said" closed_folder
	# A stranger's trace that names this very run, and one's own that he links to.
	# The collector may open the trace after a short program has ended.
	spoofed() {
		rm -rf "$TMPDIR"/* && mkdir -m 777 -p "$base/spoof" && (cd "$base/spoof" && status 0 "$memrec" -o mine.zst -- sh -c "
			$program --calls 20 && until [ -s mine.zst ]; do sleep 0.05; done && cp mine.zst copy.zst && mkdir $TMPDIR/memrec-trace.spoof1 $TMPDIR/memrec-trace.spoof2 &&
			mv copy.zst $TMPDIR/memrec-trace.spoof1/evil.zst && ln -s $TMPDIR/memrec-trace.spoof1 $TMPDIR/memrec-trace.spoof3 &&
			mkfifo $TMPDIR/memrec-trace.spoof2/pipe.zst && chown -R 65534 $TMPDIR/memrec-trace.spoof1" &&
			! grep -q evil err && grep -Eq '^memrec: mine\.zst: .* [0-9]+ events' err || { cat err; false; })
	}
	check "strays: what another user has put there is not taken for one's own" spoofed
else
	echo "skip strays: another user: needs root, and a build that others can read"
fi

# A daemon that has not taken anything yet.
daemon() {
	rm -f go && mkfifo go
	status 0 "$memrec" -o daemon.zst -- sh -c "setsid sh -c 'read x <go; exec $program' >/dev/null 2>&1 </dev/null &" &&
		grep -Eq '^memrec: process [0-9]+ \((setsid|sh)\) goes on, and will be recorded once it takes memory$' err || { cat err; return 1; }
	echo now >go
	for _ in $(seq 200); do ls daemon.*.zst >/dev/null 2>&1 && "$memana" verify daemon.*.zst && return; read -rt 0.1 <>never; done
	return 1
}
mkfifo never
check "strays: a daemon that goes on" daemon

# Another run's traces in the same folder are none of ours.
not_ours() {
	# A stranger's folder of 50 ms ago: of the same second, mostly.
	local ago=$((${EPOCHREALTIME/./} - 50000))
	[ ! -d "${TMPDIR:-}/memrec-trace.spoof1" ] ||
		touch -d "@$((ago / 1000000)).$(printf %06d $((ago % 1000000)))" "$TMPDIR/memrec-trace.spoof1" || return
	"$memrec" -o one.zst -- $program >/dev/null 2>&1 && status 0 "$memrec" -o two.zst -- true && one_line err 'nothing was recorded'
}
check "strays: traces of other runs are left alone" not_ours
