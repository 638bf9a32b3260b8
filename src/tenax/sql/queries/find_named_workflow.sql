-- The definition under this name, or under this name and version: what was stored last; where none was, what was submitted last.
-- And the children of its newest plan.
select w.body, (select p.children from tenax.plan p where p.workflow_id = w.id order by p.id desc limit 1) as children
  from tenax.workflow w
 where w.name = $1::text and ($2::text is null or w.version = $2)
 order by w.stored_at desc nulls last, w.id desc limit 1
