-- Finds the largest groups of failures in the minutes from $1 seconds ago on.
select workflow, step, class, reason, sum(n)::bigint as n, max(minute) as last_minute
  from tenax.attempt_minute
 where minute >= date_trunc('minute', tenax.now() - make_interval(secs => $1::double precision)) and minute <= tenax.now()
   and outcome in ('failed', 'not_completed', 'lost', 'expired')
 group by workflow, step, class, reason
 order by n desc, workflow, step, class, reason
 limit $2::bigint
