-- How long the oldest ready item of each level has waited, and whether there are others than common ones, ready or to be retried. Of
-- crowds, the first $2 are looked at.
with recursive levels as (
    select q.queue, p.priority::smallint from unnest($1::text[]) as q (queue) cross join generate_series(0, 9) as p (priority)
), lanes as (
    select l.queue, l.priority, 1 as k,
           (select min(i.lane) from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.leasable and not i.common) as lane
      from levels l
    union all
    select p.queue, p.priority, p.k + 1,
           (select min(i.lane) from tenax.item i
             where i.queue = p.queue and i.priority = p.priority and i.leasable and not i.common and i.lane > p.lane)
      from lanes p
     where p.lane is not null and p.k < $2::integer
), special as (
    select l.queue, l.priority, min((select i.available_at from tenax.item i
                                      where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane
                                        and i.leasable and not i.common
                                      order by i.available_at limit 1)) as oldest
      from lanes l
     where l.lane is not null
     group by 1, 2
)
select l.queue, l.priority,
       extract(epoch from tenax.now() - least(
           (select i.available_at from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.leasable and i.common and i.available_at <= tenax.now()
             order by i.available_at limit 1),
           case when s.oldest <= tenax.now() then s.oldest end))::double precision as waited,
       s.oldest is not null as special
  from levels l
  left join special s on s.queue = l.queue and s.priority = l.priority
