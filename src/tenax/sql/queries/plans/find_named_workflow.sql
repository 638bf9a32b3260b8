-- Finds the definition of this name, or of this name and version: the one stored last, or else the one submitted last.
-- Also returns its newest plan with the children of that.
select w.body, w.hash, w.id as workflow_id, p.id as plan_id, p.children
  from tenax.workflow w
  left join lateral (
     select p.id, p.children from tenax.plan p where p.workflow_id = w.id order by p.id desc limit 1) as p on true
 where w.name = $1::text and ($2::text is null or w.version = $2)
 order by w.stored_at desc nulls last, w.id desc limit 1
