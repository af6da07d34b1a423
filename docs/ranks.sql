-- Which rank holds most, in which step, at which place? One row for each GPU of each database, largest first.
--
-- Make the databases first, one for each trace, with any number of processes at once:
--
--     ls run/*.zst | parallel memana load {} -o {.}.db                    GNU parallel
--     srun bash -c 'memana load t.rank$SLURM_PROCID.zst -o t.rank$SLURM_PROCID.db'
--     ray.get([load.remote(trace) for trace in traces])                   load runs memana load TRACE -o DB
--
-- Then ask DuckDB 1.2 or later, with its extension sqlite:
--
--     duckdb -cmd "SET VARIABLE files = 'run/*.db'" -f docs/ranks.sql
--
-- A GPU that several recorded processes share is counted once for each of them here. `memana top run/` joins them.
-- Columns: gib and place_gib are GiB. over_median is the peak minus the median of all rows, in GiB. step, phase and place are those of
-- the row's peak; the place is the one with most bytes then.

SET VARIABLE files = coalesce(getvariable('files'), '*.db');

-- The rows of one table in all files: db is the file.
CREATE OR REPLACE TEMP MACRO rows_of(name) AS (
	SELECT string_agg(format('SELECT ''{0}'' AS db, * FROM sqlite_scan(''{0}'', ''{1}'')', replace(file, '''', ''''''), name),
		' UNION ALL ') FROM glob(getvariable('files')));
SET VARIABLE processes = rows_of('process');
SET VARIABLE devices = rows_of('device');
SET VARIABLE peaks = rows_of('peak');
SET VARIABLE places = rows_of('bytes_by_place');

WITH process AS (SELECT db, id AS process, rank, host, pid FROM query(getvariable('processes'))),
	device AS (SELECT db, id AS device, number, kind FROM query(getvariable('devices'))),
	place AS (SELECT db, device AS number, place, sum(CAST(CAST(bytes AS VARCHAR) AS BIGINT)) AS bytes
		FROM query(getvariable('places')) GROUP BY ALL),
	largest AS (SELECT db, number, arg_max(place, bytes) AS place, max(bytes) AS place_bytes FROM place GROUP BY ALL),
	gpu AS (SELECT db, process, number, bytes, step, phase
		FROM query(getvariable('peaks')) AS peak JOIN device USING (db, device) WHERE kind = 'cuda' OR NOT EXISTS
		(SELECT * FROM device AS other WHERE other.db = peak.db AND other.kind = 'cuda' AND other.number IS NOT NULL))
SELECT rank, host, pid, number AS device, round(bytes / 2**30, 2) AS gib, round((bytes - median(bytes) OVER ()) / 2**30, 2) AS over_median,
	step, phase, place, round(place_bytes / 2**30, 2) AS place_gib, db
FROM gpu JOIN process USING (db, process) LEFT JOIN largest USING (db, number)
ORDER BY bytes DESC, rank, db;
