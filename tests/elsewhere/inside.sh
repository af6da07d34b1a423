# inside.sh - how scripts enter a bare Debian below the folder $where. Needs root (chroot, mount) and debootstrap.

die() { echo "elsewhere: $*" >&2; exit 4; }
[ "$(id -u)" = 0 ] || die "a chroot needs root"
command -v debootstrap >/dev/null || die "debootstrap is missing (apt-get install debootstrap)"

# inside ROOT COMMAND: in the folder as if it were the machine; its mounts go away with it.
inside() {
	ROOT=$1 INSIDE=$2 unshare -m --propagation private bash -c '
		mount --bind "$ROOT" "$ROOT" && cd "$ROOT" || exit 4
		mount -t proc proc "$ROOT/proc" && mount --rbind /sys "$ROOT/sys" && mount --rbind /dev "$ROOT/dev" &&
			mount -t tmpfs tmpfs "$ROOT/dev/shm" && mount -t tmpfs tmpfs "$ROOT/tmp" || exit 4
		exec chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" ${TEST_TIMEOUT:+TEST_TIMEOUT="$TEST_TIMEOUT"} bash -c "$INSIDE"'
}

# bare SUITE PACKAGES: $where/SUITE with these packages; one that is whole stays as it is.
bare() {
	[ ! -e "$where/$1/.whole" ] || return 0
	rm -rf --one-file-system "${where:?}/$1"
	debootstrap --variant=minbase --include="$2" "$1" "$where/$1" && touch "$where/$1/.whole"
}
