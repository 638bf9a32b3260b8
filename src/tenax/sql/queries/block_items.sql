-- As many as may are running: these ($1) wait for one of them to end. So do, of the next $7 of each lane that they are of ($2, $3,
-- $4), those at a limit that is reached ($5, with $6 running): a long row is not gone through few by few.
with next as (
    select i.id, i.action_gate, i.action_most, i.key_gate, i.key_most
      from unnest($2::text[], $3::smallint[], $4::bigint[]) as l (queue, priority, lane)
     cross join lateral (
        select * from tenax.item i
         where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.leasable and not i.common
         order by i.available_at
         limit $7::integer
     ) as i
), others as (
    select n.id from next n join unnest($5::text[], $6::integer[]) as g (gate, running) on n.action_gate = g.gate and n.action_most <= g.running
    union
    select n.id from next n join unnest($5, $6) as g (gate, running) on n.key_gate = g.gate and n.key_most <= g.running
    union
    select unnest($1::bigint[])
), free as (
    select i.id from tenax.item i where i.id in (select id from others) and i.leasable for update skip locked
)
update tenax.item set blocked = true where id in (select id from free)
