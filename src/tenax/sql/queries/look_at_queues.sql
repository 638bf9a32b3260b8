-- How long the oldest ready item of each level has waited, and whether there are others than common ones. (Of crowds, the oldest
-- of the first: near enough.)
select q.queue, p.priority,
       extract(epoch from tenax.now() - least(
           (select i.available_at from tenax.item i
             where i.queue = q.queue and i.priority = p.priority and i.leasable and i.common and i.available_at <= tenax.now()
             order by i.available_at limit 1),
           s.available_at))::double precision as waited,
       s.available_at is not null as special
  from unnest($1::text[]) as q (queue)
 cross join generate_series(0, 9) as p (priority)
  left join lateral (
    select i.available_at from tenax.item i
     where i.queue = q.queue and i.priority = p.priority and i.leasable and not i.common
     order by i.lane, i.available_at limit 1) as s on true
