-- Workers that lost leases: one row for each time they fell silent, with all that they had then. What an earlier life had is known
-- since the next one registered (`register_worker`).
insert into tenax.worker_loss as old (worker, ended, at, items)
select w.name, w.last_heartbeat, tenax.now(), array_agg(distinct x.item_id)
  from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as x (worker, item_id, started_at)
  join tenax.worker w on w.name = x.worker and x.started_at >= w.registered_at
 group by 1, 2
    on conflict (worker, ended) do update
   set items = array(select distinct unnest(old.items || excluded.items))
