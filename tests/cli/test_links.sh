# memrec and memana do not write to or remove a file that a ring, a run's folder or a link names, and do not wait for a
# pipe or a device.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"

# A link leads to a folder with all names of a run in it, a file, a trace or a pipe. `number` is a pid.
number=4711
notes=(.screen $number.ring.trace $number.ring.done $number.ring.done.new $number.failed $number.unseen
	$number.torch $number.cpu $number.elsewhere name.0123456789abcdef)
files=($number.ring $number.zst $number.zst.old $number.zst.keep)
names=("${notes[@]}" "${files[@]}")
precious() {
	rm -rf precious && mkdir -p precious/folder/memrec.run
	for name in "${names[@]}" thesis.trace data.done; do
		echo "thesis $name" >"precious/folder/$name" && cp "precious/folder/$name" precious/folder/memrec.run
	done
	cp begun.zst precious/trace.zst && echo thesis >precious/file && mkfifo precious/pipe
}
unharmed() { (cd precious && find . -printf '%p %y %s %T@ %m\n' | sort) >"$1"; }
targets=(folder folder/memrec.run/$number.ring file trace.zst pipe)

# A left-over of a killed run, as a stranger may send it: gift/memrec.gift/$number.ring.
mkdir -p rings gpu
(STANDIN_STATE=$PWD/gpu LD_LIBRARY_PATH=$standin "$memrec" -o begun.zst --ring-dir rings -- \
	python3 "$SRC/tests/cli/driver_calls.py" --calls 300 --after until-written --end kill-all >/dev/null 2>&1; true) 2>/dev/null
cp --sparse=always rings/*/*.ring gift.ring
rm -rf rings
gift=gift/memrec.gift/$number.ring
new_gift() { rm -rf gift && mkdir -p gift/memrec.gift && cp --sparse=always gift.ring $gift; }
# recovers TO_MINE NAME...: none of the user's files changes, and with TO_MINE the trace is whole.
recovers() {
	local target name way=
	[ $1 = no ] || way='-o mine.zst'
	for target in "${targets[@]}"; do
		precious && unharmed before && rm -f mine.zst* && new_gift || return 1
		for name in "${@:2}"; do
			ln -s "$PWD/precious/$target" "gift/memrec.gift/$name" 2>/dev/null || [ $name = $number.ring ] || return 1
		done
		timeout 20 "$memrec" recover $way $gift >/dev/null 2>err || { echo "$target:"; cat err; return 1; }
		unharmed after && diff before after || { echo "$target"; return 1; }
		[ $1 = no ] || "$memana" verify mine.zst >/dev/null || return 1
	done
}
check "recover -o: a link in each name of a note" recovers yes "${notes[@]}"
check "recover: a link in each name that may lie beside a ring" recovers no "${names[@]}"
# Files that are no notes of a run stay, whatever the folder is called.
others() {
	new_gift && echo thesis | tee gift/memrec.gift/{thesis.trace,7.done,7.failed,name.txt} >/dev/null &&
		status 0 "$memrec" recover -o mine.zst $gift && [ "$(cat gift/memrec.gift/{thesis.trace,7.done,7.failed,name.txt} | wc -l)" = 4 ]
}
check "recover: files that are no notes stay" others
# The ring itself is a link.
link_itself() {
	local target
	for target in "${targets[@]}"; do
		precious && unharmed before && rm -rf gift && mkdir -p gift/memrec.gift && ln -s "$PWD/precious/$target" $gift || return 1
		timeout 20 "$memrec" recover $gift >/dev/null 2>&1
		[ $? != 124 ] && unharmed after && diff before after || { echo "$target"; return 1; }
	done
}
check "recover: a ring that is a link to something else" link_itself

# The program itself puts them into the folder of its run.
cat >plant.py <<'END'
import os, runpy, sys
run = [word[8:] for word in os.environ["MEMREC_OPTIONS"].split() if word.startswith("run-dir=")][0]
for i, name in enumerate(sys.argv[3:]):
    os.symlink(sys.argv[2], run + "/" + name)
sys.argv = [sys.argv[1], "--calls", "200", "--account", "account"]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
END
in_a_run() {
	local target
	for target in "${targets[@]}"; do
		precious && unharmed before && rm -rf rings t.zst* && mkdir rings || return 1
		LD_LIBRARY_PATH=$standin STANDIN_STATE=$PWD/gpu status 0 timeout 60 "$memrec" --ring-dir rings -o t.zst -- \
			python3 plant.py "$SRC/tests/cli/driver_calls.py" "$PWD/precious/$target" "${names[@]}" && agrees t.zst account || return 1
		unharmed after && diff before after || { echo "$target"; return 1; }
	done
}
check "memrec: a link in each name of the folder of its run" in_a_run

# memana live looks through the folders of runs.
no_wait() {
	local here
	for here in memrec.own memrec.link; do
		rm -rf live && mkdir -p live/memrec.own && mkfifo live/pipe && ln -s "$PWD/live/pipe" live/memrec.own/1.ring.trace
		[ $here = memrec.own ] || { mv live/memrec.own live/elsewhere && ln -s ../live/elsewhere live/memrec.link; }
		(cd live && timeout 20 "$memana" live </dev/null >/dev/null 2>&1; [ $? != 124 ]) || return 1
	done
}
check "memana live waits for no pipe that a folder names" no_wait
pipe_operand() { mkfifo operand && status 3 timeout 20 "$memana" top operand && status 3 timeout 20 "$memrec" recover operand; }
check "a pipe is no trace" pipe_operand
