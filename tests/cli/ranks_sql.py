"""ranks_sql.py QUERY FILES - the rows of docs/ranks.sql over the databases that FILES names, as DuckDB gives them: JSON."""
import json
import os
import sys

import duckdb
import duckdb_extension_sqlite_scanner as scanner

found = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.dirname(scanner.__file__)) for name in names
         if name.endswith(".duckdb_extension")]
database = duckdb.connect()
database.execute("LOAD '%s'" % found[0])
database.execute("SET VARIABLE files = '%s'" % sys.argv[2])
rows = database.execute(open(sys.argv[1]).read())
names = [column[0] for column in rows.description]
json.dump([dict(zip(names, row)) for row in rows.fetchall()], sys.stdout)
