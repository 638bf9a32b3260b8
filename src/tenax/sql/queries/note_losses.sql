-- Workers that lost leases: one row for each time they fell silent or began anew, with all that they had then.
insert into tenax.worker_loss as old (worker, ended, at, items)
select w.name, case when x.started_at < w.registered_at then w.registered_at else w.last_heartbeat end as ended, tenax.now(),
       array_agg(distinct x.item_id)
  from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as x (worker, item_id, started_at)
  join tenax.worker w on w.name = x.worker
 group by 1, 2
    on conflict (worker, ended) do update
   set items = array(select distinct unnest(old.items || excluded.items))
