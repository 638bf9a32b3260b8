-- Sums what was counted in the minutes from $1 seconds ago on, and says up to when the log is counted.
--
-- Minutes ahead of the clock are left out: a clock that was wrong for a while has made them.
with since as materialized (
    select date_trunc('minute', tenax.now() - make_interval(secs => $1::double precision)) as at, tenax.now() as now
), events as (
    select coalesce(sum(n) filter (where kind = 'first_attempt'), 0)::bigint as first_attempts,
           coalesce(sum(n) filter (where kind = 'retry'), 0)::bigint as retries,
           coalesce(sum(n) filter (where kind = 'execution_started'), 0)::bigint as executions,
           coalesce(sum(n) filter (where kind = 'execution_completed'), 0)::bigint as completed,
           coalesce(sum(n) filter (where kind = 'execution_failed'), 0)::bigint as failed
      from tenax.event_minute where minute >= (select at from since) and minute <= (select now from since)
), attempts as (
    select coalesce(sum(n) filter (where outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired')), 0)::bigint as ended,
           coalesce(sum(n) filter (where outcome in ('failed', 'not_completed', 'lost', 'expired')), 0)::bigint as failures,
           coalesce(sum(n) filter (where after_class <> '' and outcome = 'succeeded'), 0)::bigint as recovered,
           coalesce(sum(n) filter (where after_class <> '' and outcome in ('failed', 'not_completed', 'lost', 'expired')), 0)::bigint
               as failed_again
      from tenax.attempt_minute where minute >= (select at from since) and minute <= (select now from since)
)
select e.*, a.*, (select count(*) from tenax.dead_letter where status = 'open') as dead_letters, r.counted_at, tenax.now() as now
  from events e cross join attempts a cross join tenax.roll_up r
