-- Sums the ends of retries by a name ($3: reason, step or class of the failure that was retried) and by attempt.
select case $3::text when 'reason' then after_reason when 'class' then after_class else step end as name, attempt,
       sum(n)::bigint as n, coalesce(sum(n) filter (where outcome = 'succeeded'), 0)::bigint as succeeded,
       sum(seconds) as seconds, sum(waited) as waited
  from tenax.attempt_minute
 where minute >= date_trunc('minute', $1::timestamptz) and minute < $2::timestamptz
   and after_class <> '' and outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired')
 group by 1, 2
 order by 1, 2
