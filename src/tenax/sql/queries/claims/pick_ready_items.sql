-- Picks and locks ready items for the slots ($5), share by share ($7 to $12), until there is one for each slot.
-- A share asks for up to `most` items of a queue and priority, the longest waiting first:
--   lane 0: unrestricted items in one state, new ones ('queued') or retries ('retrying');
--   a lane: items of this fan-out, in any state.
-- A share passes over its first `skip` items: an earlier share has picked them.
-- Picks nothing at all if an item of a fan-out is limited, refused or suspect: only the full claim can serve it.
select p.place, p.n, p.request, p.token
  from (
    select array_agg(r.place) as places, bool_or(r.needs_full_claim) as needs_full_claim
      from (
        select c.place, c.needs_full_claim
          from unnest($7::text[], $8::smallint[], $9::text[], $10::bigint[], $11::integer[], $12::integer[])
                   as s (queue, priority, state, lane, skip, most)
         cross join lateral (
            select u.place, false as needs_full_claim
              from (
                select i.ctid as place
                  from tenax.item i
                 where s.lane = 0
                   and i.queue = s.queue and i.priority = s.priority and i.state = s.state and i.standing = 'ready'
                   and i.available_at <= tenax.now()
                   and i.runtime = any($13::text[])
                   and (i.labels is null or i.labels <@ $14::jsonb)
                 order by i.available_at
                offset s.skip limit s.most
                   for update skip locked
              ) as u
            union all
            select f.place, f.needs_full_claim
              from (
                select i.ctid as place,
                       i.refused_by is not null or i.suspect or not (i.limits is null) as needs_full_claim
                  from tenax.item i
                 where s.lane > 0
                   and i.queue = s.queue and i.priority = s.priority and i.lane = s.lane and i.standing = 'restricted'
                   and i.available_at <= tenax.now()
                   and i.runtime = any($13::text[])
                   and (i.labels is null or i.labels <@ $14::jsonb)
                 order by i.available_at
                offset s.skip limit s.most
                   for update skip locked
              ) as f
         ) as c
         limit cardinality($5::text::integer[])
      ) as r
  ) as a
 cross join lateral unnest(a.places, $5::text::integer[], string_to_array($6::text, E'\n')::uuid[])
                        with ordinality as p (place, request, token, n)
 where not a.needs_full_claim and p.place is not null
