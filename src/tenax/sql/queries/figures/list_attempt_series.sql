-- Counts the attempts that ended from $1 to $2 in spans of $3 seconds, of a workflow ($4) and a step ($5), or of all.
select date_bin(make_interval(secs => $3::double precision), minute, 'epoch') as at,
       sum(n) filter (where outcome = 'succeeded')::bigint as succeeded,
       sum(n) filter (where outcome in ('failed', 'not_completed'))::bigint as failed,
       sum(n) filter (where outcome = 'lost')::bigint as lost, sum(n) filter (where outcome = 'expired')::bigint as expired,
       sum(n) filter (where after_class <> '' and outcome = 'succeeded')::bigint as recovered,
       sum(n) filter (where after_class <> '' and outcome in ('failed', 'not_completed', 'lost', 'expired'))::bigint as failed_again,
       sum(given_up)::bigint as given_up
  from tenax.attempt_minute
 where minute >= $1::timestamptz and minute < $2::timestamptz
   and ($4::text is null or workflow = $4) and ($5::text is null or step = $5)
 group by 1
