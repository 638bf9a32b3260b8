-- Corrects the loss of an earlier life of a worker. It was counted as lost when the next life registered, but has ended
-- these attempts after all. If it lost nothing else, the loss is removed.
with back as materialized (
    select l.worker, l.ended, array_agg(x.item_id) as items
      from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as x (worker, item_id, started_at)
      join tenax.worker_loss l on l.worker = x.worker and l.ended >= x.started_at and l.items @> array[x.item_id]
     where isfinite(l.at)
     group by 1, 2
), left_over as materialized (
    select l.worker, l.ended, array(select unnest(l.items) except select unnest(b.items)) as items
      from back b
      join tenax.worker_loss l on l.worker = b.worker and l.ended = b.ended
     order by l.worker, l.ended
       for update of l
), kept as (
    update tenax.worker_loss l
       set items = o.items
      from left_over o
     where l.worker = o.worker and l.ended = o.ended and o.items <> '{}'
)
delete from tenax.worker_loss l
 using left_over o
 where l.worker = o.worker and l.ended = o.ended and o.items = '{}'
