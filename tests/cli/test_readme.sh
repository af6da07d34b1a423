# README.md and docs/ name files and commands that exist, and docs/reading.md shows the output of `make demo`. Times,
# and counts at one instant, may differ from run to run.
. "$SRC/tests/cli/lib.sh"

untimed() {
	sed -E 's/at [0-9.]+ m?s/at TIME/; s/, [0-9.]+ ([mun]s|s) (before|after) the peak/, LATER/; s#[^ ]*/demo.zst#demo.zst#
		s/^(  (recorded then|this process|in use on the GPU) ).*/\1/; s/^(Recorded:) [0-9,]+/\1/
		/^Host: /,/^Recorded:/{/^Recorded:/!d}'
}
printed() { "$SRC/samples/demo.sh" "$BUILD" >demo && sed -n '/^GPU 0/,$p' demo | untimed >printed; }
check "the demo runs" printed
sed -n '/^GPU 0/,/^```/p' "$SRC/docs/reading.md" | sed '$d' | untimed >shown
# If a pause of the program passes without a look at the GPU, context and code are not told apart: once more, slower.
same() {
	local pause
	for pause in 300 1000; do
		diff shown printed >difference && return
		export STANDIN_SYNC_NS=${pause}000000
		printed
	done
	diff shown printed
}
check "docs/reading.md shows its output" same
# begins FILE: the blocks of README.md that quote the answer are the beginning of it.
begins() {
	sed -n '/^Peak /,/^```/p' "$SRC/README.md" | sed '$d' | untimed >quoted
	diff quoted <(sed -n '/^Peak /,$p' shown | head -n "$(wc -l <quoted)") && [ -s quoted ]
}
check "README.md quotes its beginning" begins
# docs/oom.md: a request that fails, and how both answers begin.
words() { untimed | tr -s ' \n' ' '; }
quoted() { sed -n "/^$1/,/^\`\`\`/p" "$SRC/docs/oom.md" | sed '$d'; }
failed() { LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" -o oom.zst -- "$BUILD/samples/rl_step" --scale 1 --tokens 8192 >out 2>&1; [ $? = 1 ]; }
check "a run that runs out of memory" failed
answers() { "$memana" "$1" oom.zst | sed -n "/^$2/,\$p" >answer && quoted "$2" >begin && [ -s begin ] && diff <(words <begin) <(head -n "$(wc -l <begin)" answer | words); }
check "docs/oom.md quotes memana oom" answers oom 'Out of memory'
check "docs/oom.md quotes memana advise" answers advise '1. Put fewer '
check "README.md has at most 130 lines" test "$(wc -l <"$SRC/README.md")" -le 130

# docs/screen.md: the scenes and tests that it names are there.
named() {
	local word missing=0
	for word in $(sed -n '/^## For developers/,$p' "$SRC/docs/screen.md" | grep '^|' | grep -oE '`[a-z][a-z_-]*(\.sh)?`' | tr -d '`' | sort -u); do
		case $word in
		*.sh) [ -e "$SRC/tests/cli/$word" ] ;;
		top) true ;;
		*) grep -qE "^TEST\($word\)" "$SRC"/tests/unit/test_*.c || [ -d "$SRC/tests/golden/tui/$word" ] ||
			ls "$SRC"/tests/golden/tui/*-"$word"-80x24.txt "$SRC"/tests/golden/tui/*/"$word"-80x24.txt 2>/dev/null | grep -q . ;;
		esac || { echo "$word is named, and is not there"; missing=1; }
	done
	return $missing
}
check "docs/screen.md names what is there" named

# Links of README.md and of all pages lead to a file.
linked() {
	local page target missing=0
	for page in README.md CONTRIBUTING.md docs/*.md; do
		for target in $(grep -oE '\]\([^)#:]+\)' "$SRC/$page" | sed 's/^](//; s/)$//' | sort -u); do
			[ -e "$SRC/$(dirname "$page")/$target" ] || { echo "$page: $target is not there"; missing=1; }
		done
	done
	return $missing
}
scratch=$PWD
cd "$SRC" && check "links lead to a file" linked
# A heading that the index names is in its page.
headed() {
	local page heading missing=0
	while IFS='|' read -r page heading; do
		grep -qxE "#+ $heading" "docs/$page" || { echo "$page has no heading \"$heading\""; missing=1; }
	done < <(grep -oE '\]\([a-z.-]+\), "[^"]+"' docs/README.md | sed -E 's/^\]\(([^)]*)\), "(.*)"$/\1|\2/')
	return $missing
}
check "docs/README.md names headings that are there" headed
# Every page is in the index.
indexed() {
	local page missing=0
	for page in docs/*.md; do
		[ "$page" = docs/README.md ] || grep -q "]($(basename "$page"))" docs/README.md || { echo "$page is not in docs/README.md"; missing=1; }
	done
	return $missing
}
check "docs/README.md has every page" indexed
# The categories of the code, each with its meaning in reading.md, and in the manual of memana.
categories() {
	sed -n '/define MT_CATEGORY_LIST/,/[^\\]$/p' include/memtrace/phase.h | grep -oE '"[^"]+"' | tr -d '"' | sort >"$scratch/code"
	sed -n '/^## The categories/,/^## When/p' docs/reading.md | sed -nE 's/^\| ([^|]+) \| [^|]{10,} \|$/\1/p' | grep -vx category | sort >"$scratch/page"
	[ "$(wc -l <"$scratch/code")" -ge 16 ] && diff "$scratch/code" "$scratch/page" || return 1
	sed -n '/^Categories of tensors/,/other\.$/p' docs/man/memana.1 | tr '\n' ' ' | tr -d '\\' >"$scratch/manual"
	while read -r word; do grep -qF "$word" "$scratch/manual" || { echo "not in the manual: $word"; return 1; }; done <"$scratch/code"
}
check "docs/reading.md and the manual list the categories" categories
# The commands that pages show are commands of memana.
commands() {
	local word missing=0
	for word in $(grep -ohE '`memana [a-z]+' README.md docs/*.md | sed 's/.* //' | sort -u); do
		[[ $word = trace || $word = snapshot ]] || "$memana" "$word" --help >/dev/null 2>&1 || { echo "memana $word is no command"; missing=1; }
	done
	return $missing
}
check "pages name commands that are there" commands

# CONTRIBUTING.md: a path in it is from the root, or, below analyzer/screen, from there; a file's name alone is somewhere.
there() {
	local path missing=0
	for path in $(grep -oE '`[a-z][A-Za-z0-9_./-]*`' "$SRC/CONTRIBUTING.md" | tr -d '`' | grep -E "/|\\.(c|h|sh|py|md|yaml|txt|sql)\$" | grep -v NAME | sort -u); do
		[ -e "$SRC/$path" ] || [ -e "$SRC/analyzer/screen/$path" ] ||
			{ [[ $path != */* ]] && find "$SRC" -name "$path" -not -path '*/build*' | grep -q .; } ||
			{ echo "$path is named, and is not there"; missing=1; }
	done
	return $missing
}
check "CONTRIBUTING.md names what is there" there
