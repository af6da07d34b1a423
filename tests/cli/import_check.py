"""import_check.py DB ALLOCATIONS PEAK END - the check values of a snapshot, from the rows of `memana load`.

Counted are the blocks that were allocated inside the snapshot: their number, the most bytes alive at once, the bytes
alive at its end.
"""
import sqlite3
import sys

path, count, peak, end = sys.argv[1], *map(int, sys.argv[2:])
db = sqlite3.connect(path)
first = db.execute("SELECT first_time FROM process").fetchone()[0]
rows = db.execute("SELECT alloc_seq, free_seq, bytes FROM allocation WHERE memory = 'tensor' ORDER BY alloc_seq DESC "
                  "LIMIT ?", (count,)).fetchall()
moves = sorted([(birth, bytes_) for birth, _, bytes_ in rows] +
               [(death, -bytes_) for _, death, bytes_ in rows if death is not None])
alive = most = 0
for _, bytes_ in moves:
    alive += bytes_
    most = max(most, alive)
print("allocations", len(rows), "peak", most, "alive at the end", alive)
sys.exit((len(rows), most, alive) != (count, peak, end))
