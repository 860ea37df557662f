package query

// spans are the views of what follows from spans: where an operation lies and how it nests, who calls whom, what is repeated, and what nobody accounts for. They are of the
// newest valid run of every address. Nothing is repaired: a parent that is not there, or whose id two spans have, is said in its row.
func spans() []View {
	return []View{{
		Name: "span_windows",
		Doc:  "spans of the newest valid run of every address by the time they begin, from the first one of their payload, with their parent and how they nest in it",
		sql: withParents + `
SELECT c.experiment, c.address, c.run, c.artifact, c.source_ordinal, c.trace_id, c.span_id, c.name, c.kind, c.status_code, o.attributes_json ->> '$."service.name"' AS service,
	TRY_CAST(c.started - min(c.started) OVER payload AS BIGINT) AS start_ns, TRY_CAST(c.ended - min(c.started) OVER payload AS BIGINT) AS end_ns, c.duration_ns,
	q.name AS parent_name, c.parent_ordinal,
	CASE WHEN c.parent_span_id IS NULL THEN 'root' WHEN c.parent_ordinal IS NULL THEN 'parent_missing' WHEN c.parents > 1 THEN 'parent_ambiguous'
		WHEN c.started IS NULL OR c.ended IS NULL OR q.started IS NULL OR q.ended IS NULL THEN 'untimed' WHEN c.ended < c.started THEN 'ends_before_start'
		WHEN c.started < q.started OR c.ended > q.ended THEN 'outside_parent' ELSE 'inside_parent' END AS nesting
FROM c
LEFT JOIN s q ON q.run = c.run AND q.artifact = c.artifact AND q.source_ordinal = c.parent_ordinal
LEFT JOIN otel_resources o ON o.run = c.run AND o.artifact = c.artifact AND o.resource_ordinal = c.resource_ordinal
WINDOW payload AS (PARTITION BY c.run, c.artifact)
ORDER BY c.experiment, c.address, c.run, c.artifact, c.started NULLS LAST, c.source_ordinal`,
	}, {
		Name: "span_transitions",
		Doc:  "which operation calls which in the newest valid run of every address, most often first; called_from is span, root or parent_missing",
		sql: withParents + `
SELECT c.experiment, c.address, c.run, c.artifact, q.name AS parent_name, c.name,
	CASE WHEN c.parent_span_id IS NULL THEN 'root' WHEN c.parent_ordinal IS NULL THEN 'parent_missing' ELSE 'span' END AS called_from,
	count(*) AS spans, count(DISTINCT c.trace_id) AS traces, count(*) FILTER (WHERE c.status_code = 2) AS errors,
	TRY_CAST(sum(c.duration_ns) AS BIGINT) AS total_ns, min(c.duration_ns) AS min_ns, CAST(median(c.duration_ns) AS BIGINT) AS median_ns, max(c.duration_ns) AS max_ns,
	count(*) FILTER (WHERE c.duration_ns IS NULL) AS untimed
FROM c LEFT JOIN s q ON q.run = c.run AND q.artifact = c.artifact AND q.source_ordinal = c.parent_ordinal
GROUP BY ALL
ORDER BY spans DESC, c.experiment, c.address, c.run, c.artifact, parent_name NULLS FIRST, c.name, called_from`,
	}, {
		Name: "span_sequences",
		Doc:  "operations that one parent calls several times in a row in the newest valid run of every address, longest row first; that it is repeated does not say that it is a loop",
		// The difference of two ordinals is the same for neighbours of one name, and for no others.
		sql: withParents + `,
w AS (
	SELECT c.*, row_number() OVER (PARTITION BY run, artifact, trace_id, parent_span_id ORDER BY started, source_ordinal)
		- row_number() OVER (PARTITION BY run, artifact, trace_id, parent_span_id, name ORDER BY started, source_ordinal) AS island
	FROM c WHERE started IS NOT NULL
),
i AS (
	SELECT experiment, address, run, artifact, trace_id, parent_span_id, parent_ordinal, name, count(*) AS repeats, sum(duration_ns) AS total_ns, min(source_ordinal) AS first
	FROM w GROUP BY experiment, address, run, artifact, trace_id, parent_span_id, parent_ordinal, name, island HAVING count(*) > 1
)
SELECT i.experiment, i.address, i.run, i.artifact, q.name AS parent_name, i.name, max(i.repeats) AS longest, count(*) AS sequences, CAST(sum(i.repeats) AS BIGINT) AS spans,
	TRY_CAST(sum(i.total_ns) AS BIGINT) AS total_ns, arg_max(i.trace_id, i.repeats) AS longest_trace, arg_max(i.first, i.repeats) AS longest_ordinal
FROM i LEFT JOIN s q ON q.run = i.run AND q.artifact = i.artifact AND q.source_ordinal = i.parent_ordinal
GROUP BY ALL
ORDER BY longest DESC, spans DESC, i.experiment, i.address, i.run, i.artifact, parent_name NULLS FIRST, i.name`,
	}, {
		Name: "span_gaps",
		Doc:  "time of an operation that none of its children covers in the newest valid run of every address, longest first; operations without children, or without a time, are left out",
		sql: withParents + `,
k AS (
	SELECT c.*, q.name AS parent_name, q.started AS opened, q.ended AS shut
	FROM c JOIN s q ON q.run = c.run AND q.artifact = c.artifact AND q.source_ordinal = c.parent_ordinal
	WHERE c.parents = 1 AND c.started IS NOT NULL AND c.ended >= c.started AND q.started IS NOT NULL AND q.ended >= q.started
),
g AS (
	SELECT experiment, address, run, artifact, trace_id, parent_ordinal, parent_name, arg_max(name, ended) OVER before AS after_name, name AS before_name,
		greatest(coalesce(max(ended) OVER before, opened), opened) AS since, least(started, shut) AS until
	FROM k WINDOW before AS (PARTITION BY run, artifact, parent_ordinal ORDER BY started, source_ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
	UNION ALL
	SELECT experiment, address, run, artifact, trace_id, parent_ordinal, parent_name, arg_max(name, ended), NULL, greatest(max(ended), any_value(opened)), any_value(shut)
	FROM k GROUP BY experiment, address, run, artifact, trace_id, parent_ordinal, parent_name
),
f AS (SELECT run, artifact, min(started) AS first FROM s GROUP BY ALL)
SELECT g.experiment, g.address, g.run, g.artifact, g.trace_id, g.parent_ordinal, g.parent_name, g.after_name, g.before_name,
	TRY_CAST(g.since - f.first AS BIGINT) AS start_ns, TRY_CAST(g.until - g.since AS BIGINT) AS gap_ns
FROM g JOIN f ON f.run = g.run AND f.artifact = g.artifact
WHERE g.until > g.since
ORDER BY gap_ns DESC NULLS FIRST, g.experiment, g.address, g.run, g.artifact, g.parent_ordinal, start_ns`,
	}}
}

// withParents are the spans (s), and each of them with the span that its parent's id means (c): the first of those that share it, and how many do. Times are wide enough for
// differences of unsigned ones.
const withParents = `WITH s AS (
	SELECT r.experiment, r.address, x.run, x.artifact, x.source_ordinal, x.resource_ordinal, x.trace_id, x.span_id, x.parent_span_id, x.name, x.kind, x.status_code,
		x.start_time_unix_nano::HUGEINT AS started, x.end_time_unix_nano::HUGEINT AS ended, x.duration_ns
	FROM otel_spans x JOIN latest r ON r.run = x.run
),
p AS (SELECT run, artifact, trace_id, span_id, min(source_ordinal) AS source_ordinal, count(*) AS twins FROM s GROUP BY ALL),
c AS (
	SELECT s.*, p.source_ordinal AS parent_ordinal, coalesce(p.twins, 0) AS parents
	FROM s LEFT JOIN p ON p.run = s.run AND p.artifact = s.artifact AND p.trace_id = s.trace_id AND p.span_id = s.parent_span_id
)`
