-- Counts the ready items of these queues ($1) by what they ask for. It counts at most $2 items of them all.
select r.queue, r.runtime, r.labels, count(*)::integer as items, min(r.available_at) as since
  from (select i.queue, i.runtime, i.labels, i.available_at
          from tenax.item i
         where i.queue = any($1::text[]) and i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()
         limit $2) as r
 group by 1, 2, 3
 order by items desc
