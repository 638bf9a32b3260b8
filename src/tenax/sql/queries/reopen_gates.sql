-- Items that wait at a limit under which there is room: it may have been made in a way that told nobody. Of each limit ten. Of keys there
-- may be as many as items: only the $2 after $1 are looked at, and the last of them is told, for the next time.
with recursive actions as (
    (select i.action_gate as gate from tenax.item i where i.blocked and i.action_gate is not null order by i.action_gate limit 1)
    union all
    select (select i.action_gate from tenax.item i
             where i.blocked and i.action_gate is not null and i.action_gate > g.gate order by i.action_gate limit 1)
      from actions g where g.gate is not null
), keys as (
    (select i.key_gate as gate, 1 as n from tenax.item i
      where i.blocked and i.key_gate is not null and i.key_gate > $1::text order by i.key_gate limit 1)
    union all
    select (select i.key_gate from tenax.item i
             where i.blocked and i.key_gate is not null and i.key_gate > k.gate order by i.key_gate limit 1), k.n + 1
      from keys k where k.gate is not null and k.n < $2::integer
), shut_keys as materialized ( -- most of a long row may wait at one of these
    select i.key_gate
      from tenax.item i
     where i.key_gate is not null and i.state in ('leased', 'accepted')
     group by i.key_gate
    having count(*) >= max(i.key_most)
), roomy as materialized (
    select g.gate, r.running
      from actions g
     cross join lateral (
        select count(*) as running from tenax.item r where r.action_gate = g.gate and r.state in ('leased', 'accepted')) as r
     where g.gate is not null
       and r.running < (select max(o.action_most)
                          from (select i.action_most from tenax.item i where i.blocked and i.action_gate = g.gate
                                 order by i.available_at limit 10) as o)
), open as (
    select b.id
      from roomy g
     cross join lateral (
        (select i.id from tenax.item i
          where i.blocked and i.action_gate = g.gate and i.action_most > g.running
            and (i.key_gate is null
                 or i.key_gate not in (select k.key_gate from shut_keys k)
                    and i.key_most > (select count(*) from tenax.item r where r.key_gate = i.key_gate and r.state in ('leased', 'accepted')))
          order by i.available_at limit 10 for update skip locked)) as b
    union
    select b.id
      from keys k
     cross join lateral (
        select count(*) as running from tenax.item r where r.key_gate = k.gate and r.state in ('leased', 'accepted')) as r
     cross join lateral (
        (select i.id from tenax.item i
          where i.blocked and i.key_gate = k.gate and i.key_most > r.running and i.action_gate is null -- others: above
          order by i.available_at limit 10 for update skip locked)) as b
     where k.gate is not null
), opened as (
    update tenax.item i set blocked = false from open o where i.id = o.id returning i.id
)
select (select count(*) from opened)::integer as opened, (select k.gate from keys k where k.n = $2) as last
