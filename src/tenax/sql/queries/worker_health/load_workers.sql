-- Loads workers with all columns by which their health is judged. $1: only this worker. $2: also workers that are gone.
-- $3: the window, $4: a lease, both in seconds. While no server was alive no worker could be heard, so the age of a
-- heartbeat counts from the end of that time.
select w.name, w.runtimes, w.queues, w.labels, w.slots, w.state, w.version, w.health, w.health_column, w.health_since,
       w.state_reason, w.state_actor, w.state_since, w.registered_at, w.last_heartbeat, w.serves, w.reported,
       coalesce(w.reported_at > coalesce(w.last_success_at, '-infinity'), false) as report_is_news,
       w.probe_at, w.probed_at, w.recovering_since, w.last_success_at,
       extract(epoch from tenax.now() - case when w.state = 'gone' then w.last_heartbeat
           else greatest(w.last_heartbeat, v.reap_after - make_interval(secs => $4::double precision)) end)::double precision as heartbeat_age,
       (w.streak + s.lost_since)::integer as streak,
       extract(epoch from tenax.now() - greatest(w.last_failure_at, s.last_lost_at))::double precision as last_failure_age,
       coalesce(d.n, 0)::integer as depth, coalesce(d.latest > w.health_since, false) as given_work,
       (coalesce(o.runs, 0) + s.losses)::integer as runs, (coalesce(o.failures, 0) + s.losses)::integer as failures,
       s.losses::integer as losses, tenax.now() as now
  from tenax.worker w
 cross join tenax.service v
  left join (select worker, count(*) as n, max(started_at) as latest
               from tenax.item where state = 'leased' group by worker) as d on d.worker = w.name
 cross join lateral (
    select count(*) filter (where l.at > coalesce(w.last_success_at, '-infinity')) as lost_since,
           count(*) filter (where l.at > tenax.now() - make_interval(secs => $3::double precision)) as losses,
           max(l.at) filter (where isfinite(l.at)) as last_lost_at
      from tenax.worker_loss l
     where l.worker = w.name
 ) as s
 cross join lateral (
    select sum(b.runs) as runs, sum(b.failures) as failures
      from tenax.worker_window b
     where b.worker = w.name and b.bucket > tenax.now() - make_interval(secs => $3)
 ) as o
 where ($1::text is null or w.name = $1) and ($2::boolean or w.state <> 'gone')
 order by w.name
