-- Returns the meaning of these names (and versions, if they are not null), as find_named_workflow finds it: the
-- position of the name in the arrays, the id of the definition, and that of its newest plan. Unknown names are left
-- out.
select x.place::integer, w.id as workflow_id, p.id as plan_id
  from unnest($1::text[], $2::text[]) with ordinality as x (name, version, place)
 cross join lateral (
    select w.id
      from tenax.workflow w
     where w.name = x.name and (x.version is null or w.version = x.version)
     order by w.stored_at desc nulls last, w.id desc limit 1
 ) as w
 cross join lateral (select max(p.id) as id from tenax.plan p where p.workflow_id = w.id) as p
