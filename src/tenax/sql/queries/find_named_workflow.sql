-- The newest definition under this name, or under this name and version; and the children of its newest plan.
select w.body, (select p.children from tenax.plan p where p.workflow_id = w.id order by p.id desc limit 1) as children
  from tenax.workflow w
 where w.name = $1::text and ($2::text is null or w.version = $2)
 order by w.id desc limit 1
