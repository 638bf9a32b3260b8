-- Counts the attempts that ended in each of the last $1 minutes.
select minute, sum(n) filter (where outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired'))::bigint as ended,
       sum(n) filter (where outcome in ('failed', 'not_completed', 'lost', 'expired'))::bigint as failures
  from tenax.attempt_minute
 where minute > date_trunc('minute', tenax.now()) - make_interval(mins => $1::integer) and minute <= tenax.now()
 group by minute
 order by minute
