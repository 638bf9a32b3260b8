select p.id, p.hash, w.hash as workflow_hash, w.body as workflow, p.policies, p.children, p.actions,
       (select jsonb_object_agg(y.hash, y.body)
          from tenax.policy y
         where y.hash in (select value from jsonb_each_text(p.policies))) as policy_bodies
  from tenax.plan p
  join tenax.workflow w on w.id = p.workflow_id
 where p.id = $1::bigint
