package query

// recipes are the views that answer a question people ask again and again. Each has the experiment, the address and the run of every row; the
// command `flameox recipe` shows them a page at a time.
func recipes() []View {
	return []View{{
		Name: "memory",
		Doc:  "memory of the newest valid run of every address, by what it says: peak, retained, volume, temporary, rss, growth; never added up",
		// Producers mean different things by one word, so a row keeps the producer's metric beside the role.
		sql: `WITH every AS (
	SELECT s.run, 'sampled' AS source, s.subject, s.metric, s.value_int AS value, s.unit, s.unavailable, s.backend, NULL::VARCHAR AS phase, 1::BIGINT AS samples
	FROM resources s WHERE s.kind = 'summary' AND s.unit = 'bytes' AND NOT regexp_matches(s.metric, 'free_bytes|staging') -- which are of the disk
	UNION ALL
	SELECT s.run, 'sampled', s.subject, 'growth of ' || s.metric, arg_max(s.value_int, s.at_ns) - arg_min(s.value_int, s.at_ns), s.unit, NULL, any_value(s.backend), NULL, count(*)
	FROM resources s WHERE s.kind = 'point' AND s.metric = 'tree.rss' GROUP BY s.run, s.subject, s.metric, s.unit
	UNION ALL
	SELECT m.run, 'measured', NULL, m.name, median(coalesce(m.value_int, m.value_float))::BIGINT, 'bytes', NULL, m.provider, m.phase, count(*)
	FROM measurements m WHERE m.unit IN ('bytes', 'byte', 'B') AND m.aggregation = 'sample' AND NOT m.warmup GROUP BY m.run, m.name, m.provider, m.phase
	UNION ALL
	SELECT v.run, 'profiled', NULL, v.metric, sum(v.self)::BIGINT, 'bytes', NULL, v.provider, NULL, sum(v.samples)::BIGINT
	FROM frame_values v WHERE v.unit IN ('bytes', 'byte') AND cardinality(v.labels) = 0 GROUP BY v.run, v.metric, v.provider
)
SELECT r.experiment, r.address, e.run,
	CASE WHEN e.metric LIKE 'growth of %' THEN 'growth'
		WHEN regexp_matches(lower(e.metric), 'rss') THEN 'rss'
		WHEN regexp_matches(lower(e.metric), 'peak|high_?watermark') THEN 'peak'
		WHEN regexp_matches(lower(e.metric), 'temporary') THEN 'temporary'
		WHEN regexp_matches(lower(e.metric), 'retained|inuse|self_size') THEN 'retained'
		WHEN regexp_matches(lower(e.metric), 'alloc') THEN 'volume'
		ELSE 'other' END AS role,
	e.metric, e.subject, e.phase, e.value, e.unit, e.source, e.backend, e.samples, e.unavailable
FROM every e JOIN latest r ON r.run = e.run
ORDER BY r.experiment, r.address, role, e.metric, e.subject NULLS FIRST, e.phase NULLS FIRST, e.source, e.backend`,
	}, {
		Name: "failures",
		Doc:  "runs that are not valid, those that failed alike together, most first, with how many there were of the kind and what happened since",
		sql: `WITH alike AS (
	SELECT experiment, kind, execution, "exit", signal, cause,
		list_sort(list_distinct(list_transform(invalid, x -> split_part(x, ':', 1)))) AS codes,
		count(*) AS failures, count(DISTINCT address) AS stages, count(DISTINCT host_name) AS hosts,
		min(run) AS first_run, max(run) AS run, arg_max(address, run) AS address,
		arg_min(source_revision, run) AS first_revision, arg_max(source_revision, run) AS last_revision
	FROM runs WHERE NOT valid GROUP BY ALL
)
SELECT a.experiment, a.address, a.run, a.kind, a.execution, a."exit", a.signal, a.cause, a.codes, a.failures,
	(SELECT count(*) FROM runs k WHERE k.experiment = a.experiment AND k.kind = a.kind) AS attempts,
	a.stages, a.hosts, a.first_run, a.first_revision, a.last_revision,
	EXISTS (SELECT 1 FROM runs v WHERE v.experiment = a.experiment AND v.address = a.address AND v.valid AND v.run > a.run) AS valid_since
FROM alike a
ORDER BY a.failures DESC, a.run DESC, a.kind, a.execution, a."exit", a.signal, a.cause, a.codes`,
	}, {
		Name: "execution",
		Doc:  "what ran of each file in the newest valid run of every address: lines, arcs, by context",
		sql: `WITH l AS (SELECT run, file, context, count(DISTINCT line) AS lines, min(line) AS first_line, max(line) AS last_line FROM coverage_lines GROUP BY ALL),
a AS (SELECT run, file, context, count(*) AS arcs FROM (SELECT DISTINCT run, file, context, line_from, line_to FROM coverage_arcs) GROUP BY ALL),
every AS (
	SELECT coalesce(l.run, a.run) AS run, coalesce(l.file, a.file) AS file, coalesce(l.context, a.context) AS context, l.lines, l.first_line, l.last_line, a.arcs
	FROM l FULL JOIN a ON a.run = l.run AND a.file = l.file AND a.context IS NOT DISTINCT FROM l.context
)
SELECT r.experiment, r.address, e.run, e.file, e.context, e.lines, e.first_line, e.last_line, e.arcs
FROM every e JOIN latest r ON r.run = e.run
ORDER BY r.experiment, r.address, e.file, e.context NULLS FIRST`,
	}, {
		Name: "pytorch",
		Doc:  "operators of the newest valid run of every address, most time of their own first, with what to look at: synchronizing, compiling, warm-up, small and repeated",
		sql: `WITH o AS (SELECT *, total_ns / nullif(calls, 0)::DOUBLE AS mean_ns FROM operators)
SELECT r.experiment, r.address, o.run, o.name, o.category, o.shapes, o.phase, o.calls, o.self_ns, o.total_ns, o.max_ns, o.mean_ns, o.device_ns, o.launches, o.allocated_bytes, o.freed_bytes,
	o.name ILIKE '%synchronize%' AS synchronizes,
	regexp_matches(lower(o.name), 'compile|dynamo|inductor|graph_executor') AS compiles,
	coalesce(o.phase ILIKE '%warm%', false) AS warmup,
	o.calls >= 3 AND o.mean_ns <= quantile_cont(o.mean_ns, 0.25) OVER (PARTITION BY o.run) AS small_repeated
FROM o JOIN latest r ON r.run = o.run
ORDER BY o.self_ns DESC, r.experiment, r.address, o.name, o.category, o.shapes NULLS FIRST, o.phase NULLS FIRST`,
	}, {
		Name: "slowest_tests",
		Doc:  "tests of the newest valid run of every address, the slowest first: all phases of their last attempt together",
		sql: `SELECT r.experiment, r.address, t.run, t.test, t.result, t.attempt, sum(t.duration_ns)::BIGINT AS duration_ns,
	sum(t.duration_ns) FILTER (t.phase = 'setup')::BIGINT AS setup_ns, sum(t.duration_ns) FILTER (t.phase = 'call')::BIGINT AS call_ns, sum(t.duration_ns) FILTER (t.phase = 'teardown')::BIGINT AS teardown_ns,
	any_value(t.worker) AS worker, any_value(t.file) AS file, any_value(t.line) AS line
FROM tests t JOIN latest r ON r.run = t.run
WHERE t.phase IS NOT NULL AND t.phase <> 'subtest'
GROUP BY r.experiment, r.address, t.run, t.test, t.result, t.attempt
QUALIFY row_number() OVER (PARTITION BY t.run, t.test ORDER BY t.attempt DESC) = 1
ORDER BY duration_ns DESC NULLS LAST, r.experiment, r.address, t.test`,
	}, {
		Name: "idle_gaps",
		Doc:  "when no slice of an accelerator's stream was under way, in the newest valid run of every address, longest first; a trace of which slices were cut has gaps that are none",
		// What begins before everything earlier has ended leaves no gap, however slices overlap. Operators and calls of a program may name the stream that they
		// work for, and what a program names itself, and waiting, is drawn on one: the stream does none of these.
		sql: `WITH s AS (
	SELECT run, artifact, device, stream, name, start_ns,
		max(start_ns + duration_ns) OVER before AS free_ns, arg_max(name, start_ns + duration_ns) OVER before AS after_name
	FROM trace_events WHERE kind = 'slice' AND duration_ns IS NOT NULL AND stream IS NOT NULL
		AND coalesce(category, '') NOT IN ('cpu_op', 'user_annotation', 'python_function', 'gpu_user_annotation', 'cuda_sync', 'overhead', 'cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver')
	WINDOW before AS (PARTITION BY run, artifact, device, stream ORDER BY start_ns, event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT r.experiment, r.address, s.run, s.device, s.stream, s.free_ns AS start_ns, s.start_ns - s.free_ns AS gap_ns, s.after_name, s.name AS before_name
FROM s JOIN latest r ON r.run = s.run
WHERE s.start_ns > s.free_ns
ORDER BY gap_ns DESC, r.experiment, r.address, s.device NULLS FIRST, s.stream, s.free_ns`,
	}, {
		Name: "accelerator_launches",
		Doc:  "launches of kernels and what they launched, by phase, in the newest valid run of every address: direct launches and graphs, kernels and those with a launch in the trace, gaps of the streams; missing says which side the trace lacks",
		// A kernel belongs to the phase of its launch: streams know no phases. A gap belongs to that of the slice that ends it.
		sql: `WITH e AS (
	SELECT run, artifact, event, name, category, phase, start_ns, duration_ns, device, stream, correlation,
		coalesce(category, '') = 'kernel' AS kernel, stream IS NOT NULL AND coalesce(category, '') IN ('kernel', 'gpu_memcpy', 'gpu_memset') AS works,
		coalesce(category, '') IN ('cuda_runtime', 'cuda_driver', 'hip_runtime', 'hip_driver') AS runtime
	FROM trace_events WHERE kind = 'slice' AND duration_ns IS NOT NULL
), l AS (
	SELECT *, lower(name) LIKE '%graphlaunch%' AS graph, regexp_matches(name, '^(cudaLaunch(Cooperative)?Kernel|cuLaunch(Cooperative)?Kernel|hip(Ext)?(Module)?Launch(Cooperative)?Kernel)') AS direct
	FROM e WHERE runtime
), of AS (SELECT run, artifact, correlation, min(phase) AS phase FROM l WHERE (graph OR direct) AND correlation IS NOT NULL GROUP BY ALL
), k AS (
	SELECT e.*, of.correlation IS NOT NULL AS correlated, coalesce(of.phase, e.phase) AS region,
		e.start_ns - max(e.start_ns + e.duration_ns) OVER (PARTITION BY e.run, e.artifact, e.device, e.stream ORDER BY e.start_ns, e.event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns
	FROM e LEFT JOIN of ON of.run = e.run AND of.artifact = e.artifact AND of.correlation = e.correlation WHERE e.works
), every AS (
	SELECT run, phase AS region, count(*) FILTER (direct) AS direct_launches, count(*) FILTER (graph) AS graph_launches, count(*) AS calls, 0 AS kernels, 0 AS correlated, 0 AS kernel_ns, 0 AS streams, 0 AS gaps, 0 AS gap_ns, 0 AS longest_ns, []::VARCHAR[] AS names
	FROM l GROUP BY ALL
	UNION ALL
	SELECT run, region, 0, 0, 0, count(*) FILTER (kernel), count(*) FILTER (kernel AND correlated), coalesce(sum(duration_ns) FILTER (kernel), 0), count(DISTINCT (device, stream)),
		count(*) FILTER (gap_ns > 0), coalesce(sum(gap_ns) FILTER (gap_ns > 0), 0), coalesce(max(gap_ns) FILTER (gap_ns > 0), 0), list_sort(list_distinct(list(name) FILTER (kernel)))
	FROM k GROUP BY run, region
), t AS (SELECT run, sum(calls) AS calls, sum(streams) AS streams FROM every GROUP BY run)
SELECT r.experiment, r.address, v.run, v.region AS phase, sum(v.direct_launches)::BIGINT AS direct_launches, sum(v.graph_launches)::BIGINT AS graph_launches, sum(v.kernels)::BIGINT AS kernels,
	sum(v.correlated)::BIGINT AS correlated_kernels, sum(v.kernel_ns)::BIGINT AS kernel_ns, sum(v.streams)::BIGINT AS streams, sum(v.gaps)::BIGINT AS gaps, sum(v.gap_ns)::BIGINT AS gap_ns, max(v.longest_ns)::BIGINT AS longest_gap_ns,
	flatten(list(v.names))[:50] AS names, CASE WHEN any_value(t.calls) = 0 THEN 'runtime' WHEN any_value(t.streams) = 0 THEN 'device' END AS missing
FROM every v JOIN latest r ON r.run = v.run JOIN t ON t.run = v.run
GROUP BY r.experiment, r.address, v.run, v.region
ORDER BY r.experiment, r.address, v.region NULLS FIRST`,
	}, {
		Name: "scaling",
		Doc:  "median of the samples of every instance of a matrix, over all valid attempts of its newest result, with its axes: what a fit over an axis starts from",
		// The interval of a median without a model: order statistics k and n+1-k, with k from the binomial distribution, by its usual approximation.
		// Confidence is what an interval of these two has at least, and there is none with fewer than six samples.
		sql: `WITH standing AS (SELECT r.* FROM runs r JOIN latest l ON l.experiment = r.experiment AND l.address = r.address AND l.key = r.key AND l.generation = r.generation WHERE r.valid),
s AS (SELECT m.run, m.provider, m.name, m.unit, coalesce(m.value_int, m.value_float)::DOUBLE AS value FROM measurements m WHERE m.aggregation = 'sample' AND NOT m.warmup),
g AS (
	SELECT r.experiment, r.address, max(r.run) AS run, r.block, r.axes, s.provider, s.name AS metric, s.unit,
		median(s.value) AS median, mad(s.value) AS mad, count(*) AS samples, count(DISTINCT r.run) AS runs, list_sort(list(s.value)) AS sorted,
		greatest(1, floor((count(*) - 1.96 * sqrt(count(*))) / 2))::BIGINT AS k
	FROM s JOIN standing r ON r.run = s.run
	WHERE cardinality(r.axes) > 0
	GROUP BY r.experiment, r.address, r.block, r.axes, s.provider, s.name, s.unit
)
SELECT experiment, address, run, block, axes, provider, metric, unit, median, mad, samples, runs,
	CASE WHEN samples >= 6 THEN sorted[k] END AS low, CASE WHEN samples >= 6 THEN sorted[samples + 1 - k] END AS high,
	CASE WHEN samples >= 6 THEN 0.95::DOUBLE END AS confidence
FROM g ORDER BY experiment, block, address, metric, unit`,
	}}
}
