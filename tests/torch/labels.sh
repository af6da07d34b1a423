#!/usr/bin/env bash
# labels.sh MEMANA TRACE... - what memana says that the bytes are, for docs/labels.md and by hand: of each trace, by category
# and on whose word, what stood in the peak, and all that was ever allocated. Snapshots are imported first.
set -u
memana=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for trace in "$@"; do
	name=$(basename "$trace")
	case $trace in
	*.pickle) "$memana" import "$trace" -o "$folder/$name.zst" >/dev/null || exit 1; trace=$folder/$name.zst ;;
	esac
	"$memana" load "$trace" -o "$folder/$name.db" >/dev/null || exit 1
	echo "$name"
	"$memana" sql "$folder/$name.db" "SELECT category, known, sum(peak), sum(born) FROM
		(SELECT part.category, known, part.bytes AS peak, 0 AS born FROM peak_part AS part JOIN site ON site.id = part.site
		UNION ALL SELECT allocation.category, known, 0, allocation.bytes FROM allocation JOIN site ON site.id = site
		WHERE allocation.memory = 'tensor') GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC" |
		awk -F'\t' '{ printf "  %-24s %-9s %14s %14s\n", $1, $2, $3, $4 }'
done
