-- Summarizes ranges of pages of a partition of the log in its index, from the range $2 up to before the range $3.
select sum(brin_summarize_range($1::text::regclass, n * 128))::bigint from generate_series($2::bigint, $3::bigint - 1) as n
