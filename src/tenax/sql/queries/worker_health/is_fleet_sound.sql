-- Returns whether no fact counts against any live worker, so that none needs to be judged. $1 is the silence that is
-- too long, $2 a lease, $3 the window, all in seconds. A worker with more items than slots is judged whatever the
-- limits are.
select not exists (
    select
      from tenax.worker w
     cross join tenax.service v
      left join (select worker, count(*) as n from tenax.item where state = 'leased' group by worker) as d on d.worker = w.name
     where w.state <> 'gone'
       and (w.health <> 'healthy' or w.health_column is not null or w.probe_at is not null or w.recovering_since is not null
            or w.state = 'draining' and w.state_actor = 'tenax:server'
            or w.streak > 0 or d.n > w.slots
            or greatest(w.last_heartbeat, v.reap_after - make_interval(secs => $2::double precision))
               <= tenax.now() - make_interval(secs => $1::double precision)
            or w.reported ->> 'status' <> 'healthy' or (w.reported ->> 'queue_depth')::numeric > w.slots
            or exists (select from tenax.worker_loss l where l.worker = w.name and isfinite(l.at))
            or exists (select from tenax.worker_window b
                        where b.worker = w.name and b.failures > 0
                          and b.bucket > tenax.now() - make_interval(secs => $3::double precision))))
