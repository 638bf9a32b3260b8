-- Records heartbeats of many workers, as beat_worker does. Skips a worker whose row another transaction holds. That
-- transaction may hold several rows too, in another order, so waiting could deadlock.
with beats as materialized (
    select x.* from unnest($1::text[], $2::uuid[], $3::jsonb[]) as x (name, life, reported)
), mine as materialized (
    select w.name from tenax.worker w where w.name = any($1) for update skip locked
), beat as (
    update tenax.worker w
       set last_heartbeat = tenax.now(), state = case when w.state = 'gone' then w.wanted else w.state end,
           reported = coalesce(t.reported, w.reported),
           reported_at = case when t.reported is null then w.reported_at else tenax.now() end
      from beats t
      join mine m on m.name = t.name
     where w.name = t.name and w.life is not distinct from t.life
)
select w.name, case when w.state = 'gone' then w.wanted else w.state end as state, w.health,
       w.state = 'draining' and w.state_actor is distinct from 'tenax:server' as leave,
       w.life is distinct from t.life as superseded, w.protocol
  from tenax.worker w
  join mine m on m.name = w.name
  join beats t on t.name = w.name
