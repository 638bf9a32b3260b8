-- Records workers that were lost over these items: one row for each time they fell silent, with all items that they had
-- then. A worker that has another version by now starts with a clean record.
insert into tenax.worker_loss as old (worker, ended, at, items)
select x.worker, x.silent_since, tenax.now(), array_agg(distinct x.item_id)
  from unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[]) as x (worker, item_id, silent_since, version)
  join tenax.worker w on w.name = x.worker and w.version is not distinct from x.version
 group by 1, 2
    on conflict (worker, ended) do update
   set items = array(select distinct unnest(old.items || excluded.items))
