-- Registers a worker. It may have new code, so it may again get items that it refused in an earlier life. An earlier
-- life that did not leave, and held work, counts as lost. Another version starts with a clean record. A pause stays
-- over a restart. A drain by the server itself stays too, unless the version is another one.
--
-- A name that belongs to another valid token ($9 is the worker's own) is left as it is. Then no row is returned.
with old as (
    select w.*, w.version is distinct from $2::text as changed, w.life is distinct from $7::uuid as over,
           w.wanted = 'paused'
           or w.wanted = 'draining' and w.state_actor = 'tenax:server' and w.version is not distinct from $2 as stays
      from tenax.worker w
     where w.name = $1::text
       for update
), known as (
    insert into tenax.worker (name, state, version, runtimes, queues, labels, slots, registered_at, last_heartbeat, life, serves, token_id,
                              protocol)
    values ($1, 'active', $2, $3::text[], $4::text[], $5::jsonb, $6::integer, tenax.now(), tenax.now(), $7, $8::bigint, $9::bigint,
            $10::integer)
    on conflict (name) do update
       set version = excluded.version, runtimes = excluded.runtimes, queues = excluded.queues,
           labels = excluded.labels, slots = excluded.slots, serves = excluded.serves,
           token_id = excluded.token_id, protocol = excluded.protocol,
           registered_at = case when (select over from old) then excluded.registered_at else worker.registered_at end,
           last_heartbeat = excluded.last_heartbeat, life = excluded.life, reported = null, reported_at = null,
           state = case when (select stays from old) then worker.wanted else 'active' end,
           wanted = case when (select stays from old) then worker.wanted else 'active' end,
           state_reason = case when (select stays from old) then worker.state_reason end,
           state_actor = case when (select stays from old) then worker.state_actor end,
           state_since = case when (select stays from old) then worker.state_since end,
           streak = case when (select changed from old) then 0 else worker.streak end
     where worker.token_id is null or worker.token_id is not distinct from excluded.token_id
        or not exists (select from tenax.token t where t.id = worker.token_id and t.revoked_at is null)
    returning name
), forgotten as (
    delete from tenax.worker_window where worker = (select name from known) and (select changed from old)
), pardoned as (
    delete from tenax.worker_loss where worker = (select name from known) and (select changed from old)
), lost as (
    insert into tenax.worker_loss (worker, ended, at, items)
    select $1, tenax.now(), tenax.now(), held.items
      from old o
     cross join lateral (
        select array(select i.id from tenax.item i
                      where i.state = 'leased' and i.worker = $1 and i.started_at >= o.registered_at
                      order by i.id limit 1000) as items) as held
     where o.state <> 'gone' and o.over and not o.changed and cardinality(held.items) > 0 and exists (select from known)
        on conflict (worker, ended) do nothing
), forgiven as (
    update tenax.item set refused_by = nullif(array_remove(refused_by, $1), '{}')
     where refused_by is not null and state in ('queued', 'retrying') and refused_by @> array[$1] and exists (select from known)
)
insert into tenax.log (at, events)
select tenax.now(), json_build_array(json_build_object('type', 'worker_registered', 'data', json_build_object(
           'worker', $1, 'version', $2, 'runtimes', $3, 'queues', $4, 'labels', $5, 'slots', $6,
           'took_over', coalesce((select o.over and o.state <> 'gone' from old o), false))))
  from known
returning true
