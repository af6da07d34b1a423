# tools/lint.sh fails for one breach of each of its rules, and the counts of tools/english.txt can only fall.
. "$SRC/tests/cli/lib.sh"
git init -q tree && cd tree
mkdir -p tools include && cp "$SRC"/tools/{lint.sh,english.py} tools && touch CONTRIBUTING.md README.md tools/rooms.txt && echo tools >.gitignore
lint() { tools/lint.sh >out 2>&1; }
limits() { printf 'include %s\n' "$1" >tools/english.txt; }
limits "0 0 0"

printf '/* Bytes of one process. */\n' >include/a.h
check "a tree without breaches" status 0 lint
printf 'char *a; \n' >include/a.h
check "a breach that a pipe finds fails" status 1 lint

printf '/* Whose bytes they are. What is loose.\n * It is so many\n * bytes. */\nint x; /* of a block */\n' >include/a.h
check "hard sentences fail" status 1 lint
check "they are listed" bash -c 'diff <(tools/english.py include | cut -d: -f3 | sort | uniq -c | tr -s " ") <(printf " 3 openings\n 1 so-many\n")'
limits "3 1 0"
check "as many as are allowed pass" status 0 lint
printf 'char *s = "%s.";\n' "$(seq -s ' a' 40)" >>include/a.h
check "a long message fails" status 1 lint
tools/english.py --lower
check "--lower raises nothing" grep -qE '^include +3 +1 +0$' tools/english.txt
printf '/* Whose bytes they are. */\n' >include/a.h
tools/english.py --lower
check "--lower lowers" grep -qE '^include +1 +0 +0$' tools/english.txt
