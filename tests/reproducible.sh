#!/usr/bin/env bash
# reproducible.sh - two copies of this tree, built in two folders with another umask, time zone and language, install the same files to the byte: both programs, the
# agent, completion, manual. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

copy() { mkdir -p "$work/$1" && tar -C "$work/$1" -xf "$work/tree.tar"; }
# build FOLDER TARGET: the copy in FOLDER, installed into TARGET.
build() { make -C "$work/$1" --no-print-directory -j2 COMMIT=unknown DESTDIR="$work/$2" prefix=/usr install; }
(cd "$SRC" && git ls-files -z | tar -cf "$work/tree.tar" --null -T -)
copy one/tree && (umask 077 && copy another/folder/with/a-longer-name)
(umask 022 && TZ=UTC LC_ALL=C build one/tree here) >"$work/log" 2>&1 && (umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 build another/folder/with/a-longer-name there) >>"$work/log" 2>&1 ||
	tail -n 20 "$work/log"
while read -r file; do
	if cmp "$work/here/$file" "$work/there/$file" && [ "$(stat -c %A "$work/here/$file")" = "$(stat -c %A "$work/there/$file")" ]; then
		passed=$((passed + 1))
	else
		echo "not ok $file" && failed=$((failed + 1))
	fi
done < <(cd "$work" && find here there \( -type f -o -type l \) -printf '%P\n' | sort -u)
[ "$passed" -gt 20 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
