-- For each place that is free again ($1 has the name of its limit as often as places are), the next item that waits for one.
-- Whether it gets it is seen when it is claimed.
with freed as (
    select gate, count(*) as n from unnest($1::text[]) as x (gate) group by gate
), next as (
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b where b.blocked and b.action_gate = f.gate
          order by b.available_at limit f.n for update skip locked)
     ) as i
    union
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b where b.blocked and b.key_gate = f.gate
          order by b.available_at limit f.n for update skip locked)
     ) as i
)
update tenax.item i set blocked = false from next n where i.id = n.id
