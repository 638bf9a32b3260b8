-- Unblocks items. For each item that has stopped running under a limit ($1 repeats the name of the limit as often), the
-- next item at this limit is unblocked, unless another limit of that item is reached. The claim checks again whether it
-- may run.
with freed as materialized (
    select x.name, count(*) as n,
           (select count(*) from tenax.item i where (i.limits).action = x.name and i.standing = 'running')
           + (select count(*) from tenax.item i where (i.limits).key = x.name and i.standing = 'running') as running
      from unnest($1::text[]) as x (name)
     group by x.name
), full_keys as materialized ( -- most items of a long queue may wait at one of these
    {full_keys}
), next as (
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b
          where b.standing = 'blocked' and (b.limits).action = f.name and (b.limits).action_most > f.running
            and ((b.limits).key is null
                 or (b.limits).key not in (select k.name from full_keys k)
                    and (b.limits).key_most > (select count(*) from tenax.item r
                                               where (r.limits).key = (b.limits).key and r.standing = 'running'))
          order by b.available_at limit f.n for update skip locked)
     ) as i
    union
    select i.id
      from freed f
     cross join lateral (
        (select b.id from tenax.item b
          where b.standing = 'blocked' and (b.limits).key = f.name and (b.limits).key_most > f.running
            and ((b.limits).action is null
                 or (b.limits).action_most > (select count(*) from tenax.item r
                                               where (r.limits).action = (b.limits).action and r.standing = 'running'))
          order by b.available_at limit f.n for update skip locked)
     ) as i
)
update tenax.item i set stopped_by = null from next n where i.id = n.id
