insert into tenax.worker (name, state, version, runtimes, queues, labels, slots, registered_at, last_heartbeat)
values ($1::text, 'active', $2::text, $3::text[], $4::text[], $5::jsonb, $6::integer, tenax.now(), tenax.now())
on conflict (name) do update
   set state = 'active', version = excluded.version, runtimes = excluded.runtimes, queues = excluded.queues,
       labels = excluded.labels, slots = excluded.slots, registered_at = excluded.registered_at,
       last_heartbeat = excluded.last_heartbeat
