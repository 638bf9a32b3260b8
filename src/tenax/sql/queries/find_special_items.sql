-- As find_common_items, for what is not common: crowds, each with its share of a level ($11: with all of it), the one after lane
-- $8 first; and (lane 0, $10 more) what some worker has refused, what is suspect, what is limited. $7: the workers that ask; $9:
-- one of them may have a suspect. No more than twice $12 crowds of a level are looked at.
with recursive lanes as (
    select l.queue, l.priority, l.most, l.n, s.part, s.high, 1 as k,
           (select min(i.lane) from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.leasable and not i.common
               and i.lane >= s.low and i.lane <= s.high) as lane
      from unnest($1::text[], $2::smallint[], $3::integer[]) with ordinality as l (queue, priority, most, n)
     cross join (values (0, 0, 0), (1, $8::bigint + 1, 9223372036854775807), (2, 1, $8)) as s (part, low, high)
    union all
    select p.queue, p.priority, p.most, p.n, p.part, p.high, p.k + 1,
           (select min(i.lane) from tenax.item i
             where i.queue = p.queue and i.priority = p.priority and i.leasable and not i.common
               and i.lane > p.lane and i.lane <= p.high)
      from lanes p
     where p.lane is not null and p.k < $12::integer
), shares as materialized (
    select l.*, ceil(l.most::numeric / count(*) over (partition by l.n))::integer as share
      from lanes l
     where (select i.available_at from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.leasable and not i.common
             order by i.available_at limit 1) <= tenax.now()
)
select c.id, c.queue, c.priority, c.waited, c.again, c.runtime, c.labels, c.refused_by, c.suspect, c.lane, c.action_gate, c.action_most, c.key_gate, c.key_most
  from (select * from shares order by n, part, lane) as l
 cross join lateral (
    select i.id, i.queue, i.priority, extract(epoch from tenax.now() - i.available_at)::double precision as waited,
           i.state = 'retrying' as again, i.runtime, i.labels, i.refused_by, i.suspect, i.lane, i.action_gate, i.action_most, i.key_gate, i.key_most
      from tenax.item i
     where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.leasable and not i.common
       and i.available_at <= tenax.now()
       and i.runtime = any($4::text[])
       and (i.labels is null or i.labels <@ $5::jsonb)
       and (i.refused_by is null or not i.refused_by @> $7::text[])
       and (not i.suspect or $9::boolean)
     order by i.available_at
     limit case when l.lane = 0 then l.most + $10::integer when $11::boolean then l.most else l.share end
 ) as c
 limit $6::integer
