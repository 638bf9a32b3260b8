-- Unblocks items whose limit has room that may have become free unnoticed: ten items of each limit. There may be as
-- many keys as items, so only the $2 keys after $1 are checked. Returns the number of unblocked items, and the last key
-- that was checked.
with recursive actions as (
    (select (i.limits).action as name from tenax.item i
      where i.standing = 'blocked' and (i.limits).action is not null order by (i.limits).action limit 1)
    union all
    select (select (i.limits).action from tenax.item i
             where i.standing = 'blocked' and (i.limits).action > a.name order by (i.limits).action limit 1)
      from actions a where a.name is not null
), keys as (
    (select (i.limits).key as name, 1 as n from tenax.item i
      where i.standing = 'blocked' and (i.limits).key > $1::text order by (i.limits).key limit 1)
    union all
    select (select (i.limits).key from tenax.item i
             where i.standing = 'blocked' and (i.limits).key > k.name order by (i.limits).key limit 1), k.n + 1
      from keys k where k.name is not null and k.n < $2::integer
), full_keys as materialized ( -- most items of a long queue may wait at one of these
    {full_keys}
), roomy as materialized (
    select a.name, r.running
      from actions a
     cross join lateral (
        select count(*) as running from tenax.item r where (r.limits).action = a.name and r.standing = 'running') as r
     where a.name is not null
       and r.running < (select max(o.most)
                          from (select (i.limits).action_most as most from tenax.item i
                                 where i.standing = 'blocked' and (i.limits).action = a.name
                                 order by i.available_at limit 10) as o)
), roomy_items as (
    select b.id
      from roomy a
     cross join lateral (
        (select i.id from tenax.item i
          where i.standing = 'blocked' and (i.limits).action = a.name and (i.limits).action_most > a.running
            and ((i.limits).key is null
                 or (i.limits).key not in (select k.name from full_keys k)
                    and (i.limits).key_most > (select count(*) from tenax.item r
                                               where (r.limits).key = (i.limits).key and r.standing = 'running'))
          order by i.available_at limit 10 for update skip locked)) as b
    union
    select b.id
      from keys k
     cross join lateral (
        select count(*) as running from tenax.item r where (r.limits).key = k.name and r.standing = 'running') as r
     cross join lateral (
        (select i.id from tenax.item i
          where i.standing = 'blocked' and (i.limits).key = k.name and (i.limits).key_most > r.running
            and (i.limits).action is null -- items with an action limit are above
          order by i.available_at limit 10 for update skip locked)) as b
     where k.name is not null
), unblocked as (
    update tenax.item i set stopped_by = null from roomy_items o where i.id = o.id returning i.id
)
select (select count(*) from unblocked)::integer as unblocked, (select k.name from keys k where k.n = $2) as last
