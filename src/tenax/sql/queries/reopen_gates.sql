-- Items that wait at a limit under which there is room: it may have been made in a way that told nobody.
with recursive gates as (
    (select 'action' as kind, i.action_gate as gate from tenax.item i where i.blocked and i.action_gate is not null
      order by i.action_gate limit 1)
    union all
    select 'action', (select i.action_gate from tenax.item i
                       where i.blocked and i.action_gate is not null and i.action_gate > g.gate
                       order by i.action_gate limit 1)
      from gates g where g.gate is not null and g.kind = 'action'
), keys as (
    (select i.key_gate as gate from tenax.item i where i.blocked and i.key_gate is not null order by i.key_gate limit 1)
    union all
    select (select i.key_gate from tenax.item i
             where i.blocked and i.key_gate is not null and i.key_gate > k.gate order by i.key_gate limit 1)
      from keys k where k.gate is not null
), open as (
    select b.id
      from gates g
     cross join lateral (
        (select i.id, i.action_most as most, i.key_gate, i.key_most, i.action_gate from tenax.item i
          where i.blocked and i.action_gate = g.gate order by i.available_at limit 10 for update skip locked)) as b
     where g.gate is not null
       and (select count(*) from tenax.item r where r.action_gate = g.gate and r.state in ('leased', 'accepted')) < b.most
       and (b.key_gate is null
            or (select count(*) from tenax.item r where r.key_gate = b.key_gate and r.state in ('leased', 'accepted')) < b.key_most)
    union
    select b.id
      from keys k
     cross join lateral (
        (select i.id, i.key_most as most, i.action_gate, i.action_most from tenax.item i
          where i.blocked and i.key_gate = k.gate order by i.available_at limit 10 for update skip locked)) as b
     where k.gate is not null
       and (select count(*) from tenax.item r where r.key_gate = k.gate and r.state in ('leased', 'accepted')) < b.most
       and (b.action_gate is null
            or (select count(*) from tenax.item r where r.action_gate = b.action_gate and r.state in ('leased', 'accepted')) < b.action_most)
)
update tenax.item i set blocked = false from open o where i.id = o.id returning i.id
