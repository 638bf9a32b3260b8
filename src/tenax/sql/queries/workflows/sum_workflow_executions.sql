-- Counts the executions of some workflows ($3) that started and ended from $1 to $2, and their retries.
select workflow, coalesce(sum(n) filter (where kind = 'execution_started'), 0)::bigint as started,
       coalesce(sum(n) filter (where kind = 'execution_completed'), 0)::bigint as completed,
       coalesce(sum(n) filter (where kind = 'execution_failed'), 0)::bigint as executions_failed,
       coalesce(sum(n) filter (where kind = 'retry'), 0)::bigint as retries
  from tenax.event_minute
 where minute >= date_trunc('minute', $1::timestamptz) and minute < $2::timestamptz and workflow = any($3::text[])
 group by workflow
