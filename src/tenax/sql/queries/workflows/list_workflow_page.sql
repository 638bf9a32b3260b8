-- Lists workflows by name after $1, at most $2: for each the definition that the name finds. Only those of which the name contains
-- $3, if it is not null. Steps through the index from name to name, whatever the number of definitions.
with recursive named as (
    (select w.name from tenax.workflow w where $1::text is null or w.name > $1 order by w.name limit 1)
    union all
    select (select w.name from tenax.workflow w where w.name > n.name order by w.name limit 1) from named n where n.name is not null
)
select n.name, w.hash, w.version, w.created_at, w.stored_at, wp.actor as paused_by, wp.reason as paused_why
  from (select name from named
         where name is not null and ($3::text is null or strpos(lower(name), lower($3)) > 0)
         limit $2::integer) as n
 cross join lateral (
    select w.hash, w.version, w.created_at, w.stored_at from tenax.workflow w where w.name = n.name
     order by w.stored_at desc nulls last, w.id desc limit 1) as w
  left join tenax.workflow_pause wp on wp.workflow = n.name and wp.resumed_by is null
 order by n.name
