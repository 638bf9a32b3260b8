-- Stores verdicts on workers, and the events of those that changed.
with changed as (
    update tenax.worker w
       set health = x.health, health_column = x.health_column, probe_at = x.probe_at, recovering_since = x.recovering_since,
           health_since = case when w.health = x.health then w.health_since else tenax.now() end
      from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])
        as x (name, health, health_column, probe_at, recovering_since)
     where w.name = x.name
)
insert into tenax.log (at, events) select tenax.now(), x.events from unnest($6::text[]) as x (events)
