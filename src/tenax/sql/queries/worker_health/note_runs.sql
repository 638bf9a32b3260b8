-- Adds the results of attempts to their workers: totals, failures in a row since the last success, and the window.
with locked as (
    select name from tenax.worker where name = any($1::text[]) order by name for update
), noted as (
    update tenax.worker w
       set runs = w.runs + x.runs, failures = w.failures + x.failures,
           streak = case when x.succeeded then x.tail else w.streak + x.tail end,
           last_success_at = case when x.succeeded then tenax.now() else w.last_success_at end,
           last_failure_at = case when x.failures > 0 then tenax.now() else w.last_failure_at end
      from unnest($1, $2::integer[], $3::integer[], $4::integer[], $5::boolean[]) as x (name, runs, failures, tail, succeeded)
      join locked l on l.name = x.name
     where w.name = x.name
    returning w.name, x.runs, x.failures
)
insert into tenax.worker_window as old (worker, bucket, runs, failures)
select n.name, date_bin(make_interval(secs => $6::double precision), tenax.now(), timestamptz '2000-01-01'), n.runs, n.failures
  from noted n
    on conflict (worker, bucket) do update
   set runs = old.runs + excluded.runs, failures = old.failures + excluded.failures
