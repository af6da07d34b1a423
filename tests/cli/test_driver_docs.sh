# docs/driver-entries.md has the entries of recorder/agent/cuda/driver_entries.h.
. "$SRC/tests/cli/lib.sh"

tables() { sed '1,/^<!-- made by/d' "$SRC/docs/driver-entries.md"; }
same() { python3 "$SRC/tests/abi/entries.py" >tables && [ "$(wc -l <tables)" -gt 150 ] && diff tables <(tables); }
check "the tables of driver-entries.md are those of the headers (tests/abi/entries.py)" same
