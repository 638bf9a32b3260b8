-- Counts first attempts, retries and executions from $1 to $2 in spans of $3 seconds, of a workflow ($4) or of all.
select date_bin(make_interval(secs => $3::double precision), minute, 'epoch') as at,
       sum(n) filter (where kind = 'first_attempt')::bigint as first_attempts, sum(n) filter (where kind = 'retry')::bigint as retries,
       sum(n) filter (where kind = 'execution_started')::bigint as started,
       sum(n) filter (where kind = 'execution_completed')::bigint as completed,
       sum(n) filter (where kind = 'execution_failed')::bigint as executions_failed
  from tenax.event_minute
 where minute >= $1::timestamptz and minute < $2::timestamptz and ($4::text is null or workflow = $4)
 group by 1
