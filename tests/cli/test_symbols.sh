# The trace has the names of native frames: the files may be removed, rebuilt or stripped before it is read.
. "$SRC/tests/cli/lib.sh"
export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB STANDIN_STATE=$PWD/gpu
mkdir gpu
cp "$BUILD/samples/rl_step" program
cp program stripped && strip stripped
record() { "$memrec" -o "$1" "${@:3}" -- "./$2" --steps 2 --quiet >log 2>&1; }
top() { "$memana" top --json "$1" >"$2"; }

# Distinct places (function, else module and offset of the user's frame) and the functions among them.
cat >places.py <<'E'
import json, sys
frames = [f for d in json.load(open(sys.argv[1]))["devices"] for s in d["sites"] for f in s["stack"] if f.get("user")]
places = {(f["function"], f["line"] or f["offset"]) for f in frames}
print(len(places), *sorted({f["function"] for f in frames}))
E
places() { top "$1" top.json && python3 -IS places.py top.json; }

record whole.zst program
whole=$(places whole.zst)
check "the file is there: 18 places with names" [ "$(wc -w <<<"$whole")" -ge 10 -a "${whole%% *}" = 18 ]

mv program kept
check "the file is gone: the same places and names" [ "$(places whole.zst)" = "$whole" ]
cp "$BUILD/victim" program 2>/dev/null || cp /bin/true program
check "another build is in its place: the same" [ "$(places whole.zst)" = "$whole" ]
"$memana" load whole.zst -o whole.db >/dev/null
check "the database has the names" [ "$("$memana" sql whole.db "SELECT count(*) FROM place WHERE function = 'load_weights'")" -gt 0 ]
rm program

# No names anywhere: places are apart by offset, and the module is named.
record stripped.zst stripped
none=$(places stripped.zst)
check "stripped: as many places, by their offsets" [ "$none" = "18 " ]
says() { "$memana" top stripped.zst -n 100 | tr -d '\n' | grep -qE "No symbols: [0-9]+ places of [^ ]*/stripped "; }
check "stripped: the answer says of what names are missing" says
check "stripped: nothing is said of files with names" bash -c '! "$0" top whole.zst | grep -q "No symbols"' "$memana"

# A flight recorder, and what a killed collector left.
mv kept program
record keep.zst program --keep 1MiB
mv program kept
check "--keep keeps the names" [ "$(places keep.zst)" = "$whole" ]
check "verify: every chunk is good" status 0 "$memana" verify whole.zst

# Target, collector and memrec are killed: memrec recover writes the names for the events of the ring.
recovered() {
	cp -r "$standin" gone && mkdir rings || return 1
	LD_LIBRARY_PATH=$PWD/gone MEMREC_OPTIONS="slot-bytes=65536 wait-ms=20000" "$memrec" -o killed.zst --ring-dir rings -- \
		python3 "$SRC/tests/cli/driver_calls.py" --calls 500 --account account --end kill-all >/dev/null 2>&1
	status 0 "$memrec" recover -o recovered.zst rings/*/*.ring || return 1
	rm -r gone
	[ "$("$memana" sql recovered.zst "SELECT count(*) > 0 FROM frame JOIN elf_file ON elf_file.id = elf_file
		WHERE path LIKE '%/gone/libcuda%' AND function LIKE 'cuMem%'" | tail -n 1)" = 1 ]
}
check "recover writes names, too" recovered
