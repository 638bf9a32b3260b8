-- Counts the failures by a name ($3: reason, step or class).
select case $3::text when 'reason' then reason when 'class' then class else step end as name, sum(n)::bigint as n
  from tenax.attempt_minute
 where minute >= date_trunc('minute', $1::timestamptz) and minute < $2::timestamptz
   and outcome in ('failed', 'not_completed', 'lost', 'expired')
 group by 1
