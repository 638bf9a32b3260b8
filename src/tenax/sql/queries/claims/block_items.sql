-- Takes items at reached limits out of the queue: these items ($1), and those of the next $7 items in each of their
-- lanes ($2, $3, $4) that are at a limit ($5, with $6 running). So a long queue of limited items is not processed a
-- few at a time.
with next as (
    select i.id, i.limits
      from unnest($2::text[], $3::smallint[], $4::bigint[]) as l (queue, priority, lane)
     cross join lateral (
        select * from tenax.item i
         where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.standing = 'restricted'
         order by i.available_at
         limit $7::integer
     ) as i
), others as (
    select n.id from next n join unnest($5::text[], $6::integer[]) as r (name, running)
        on (n.limits).action = r.name and (n.limits).action_most <= r.running
    union
    select n.id from next n join unnest($5, $6) as r (name, running) on (n.limits).key = r.name and (n.limits).key_most <= r.running
    union
    select unnest($1::bigint[])
), free as (
    select i.id from tenax.item i
     where i.id in (select id from others) and i.standing in ('ready', 'restricted') and not (i.limits is null)
       for update skip locked
)
update tenax.item set stopped_by = 'limit' where id in (select id from free)
