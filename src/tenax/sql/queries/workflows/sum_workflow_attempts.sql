-- Sums what the attempts of some workflows ($3) came to from $1 to $2.
select workflow, coalesce(sum(n) filter (where outcome = 'succeeded'), 0)::bigint as succeeded,
       coalesce(sum(n) filter (where outcome in ('failed', 'not_completed', 'lost', 'expired')), 0)::bigint as failed,
       coalesce(sum(n) filter (where after_class <> '' and outcome = 'succeeded'), 0)::bigint as recovered,
       coalesce(sum(n) filter (where after_class <> '' and outcome in ('failed', 'not_completed', 'lost', 'expired')), 0)::bigint
           as failed_again
  from tenax.attempt_minute
 where minute >= date_trunc('minute', $1::timestamptz) and minute < $2::timestamptz and workflow = any($3::text[])
 group by workflow
