-- Finds the definition of a workflow ($1) whose hash begins with $2, or if that is null the one that the name finds. Also returns its
-- newest plan.
select w.hash, w.version, w.created_at, w.stored_at, p.id as plan_id
  from tenax.workflow w
 cross join lateral (select max(p.id) as id from tenax.plan p where p.workflow_id = w.id) as p
 where w.name = $1::text and ($2::text is null or starts_with(w.hash, $2)) and p.id is not null
 order by w.stored_at desc nulls last, w.id desc limit 1
