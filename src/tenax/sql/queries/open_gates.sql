-- For each place that is free again ($1 has the name of its limit as often as places are), the next item that waits for one and,
-- where it is under another limit as well, for nothing else. Whether it gets it is seen when it is claimed.
with freed as materialized (
    select x.gate, count(*) as n,
           (select count(*) from tenax.item i where i.action_gate = x.gate and i.state in ('leased', 'accepted'))
           + (select count(*) from tenax.item i where i.key_gate = x.gate and i.state in ('leased', 'accepted')) as running
      from unnest($1::text[]) as x (gate)
     group by x.gate
), shut_keys as materialized ( -- most of a long row may wait at one of these
    select i.key_gate
      from tenax.item i
     where i.key_gate is not null and i.state in ('leased', 'accepted')
     group by i.key_gate
    having count(*) >= max(i.key_most)
), next as (
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b
          where b.blocked and b.action_gate = f.gate and b.action_most > f.running
            and (b.key_gate is null
                 or b.key_gate not in (select k.key_gate from shut_keys k)
                    and b.key_most > (select count(*) from tenax.item r where r.key_gate = b.key_gate and r.state in ('leased', 'accepted')))
          order by b.available_at limit f.n for update skip locked)
     ) as i
    union
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b
          where b.blocked and b.key_gate = f.gate and b.key_most > f.running
            and (b.action_gate is null
                 or b.action_most > (select count(*) from tenax.item r where r.action_gate = b.action_gate and r.state in ('leased', 'accepted')))
          order by b.available_at limit f.n for update skip locked)
     ) as i
)
update tenax.item i set blocked = false from next n where i.id = n.id
