-- Finds candidates for a group of workers ($7): ready restricted items, of each level ($1, $2). Locks nothing. Items
-- of fan-outs: those of the lane after $8 come first, and at most twice $11 lanes of a level are read. If $12, the
-- lanes of a level share the number $3, else each of them may have all of it. Items of no fan-out (lane 0: refused,
-- limited, suspect): up to $3 + $10. Suspects only if $9: one of the workers may have one.
with recursive lanes as (
    select l.queue, l.priority, l.most, l.n, s.part, s.high, 1 as k,
           (select min(i.lane) from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.standing = 'restricted'
               and i.lane >= s.low and i.lane <= s.high) as lane
      from unnest($1::text[], $2::smallint[], $3::integer[]) with ordinality as l (queue, priority, most, n)
     cross join (values (0, 0, 0), (1, $8::bigint + 1, 9223372036854775807), (2, 1, $8)) as s (part, low, high)
    union all
    select p.queue, p.priority, p.most, p.n, p.part, p.high, p.k + 1,
           (select min(i.lane) from tenax.item i
             where i.queue = p.queue and i.priority = p.priority and i.standing = 'restricted'
               and i.lane > p.lane and i.lane <= p.high)
      from lanes p
     where p.lane is not null and p.k < $11::integer
), shares as materialized (
    select l.*, ceil(l.most::numeric / count(*) over (partition by l.n))::integer as share
      from lanes l
     where (select i.available_at from tenax.item i
             where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.standing = 'restricted'
             order by i.available_at limit 1) <= tenax.now()
)
select c.*
  from (select * from shares order by n, part, lane) as l
 cross join lateral (
    select {candidate_row}
      from tenax.item i
     where i.queue = l.queue and i.priority = l.priority and i.lane = l.lane and i.standing = 'restricted'
       and i.available_at <= tenax.now()
       and i.runtime = any($4::text[])
       and (i.labels is null or i.labels <@ $5::jsonb)
       and (i.refused_by is null or not i.refused_by @> $7::text[])
       and (not i.suspect or $9::boolean)
     order by i.available_at
     limit case when l.lane = 0 then l.most + $10::integer when $12::boolean then l.share else l.most end
 ) as c
 limit $6::integer
