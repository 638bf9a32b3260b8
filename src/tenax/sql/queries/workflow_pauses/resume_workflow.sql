-- Lets a workflow go on. Returns nothing if it is not paused. The executions that were paused with it are resumed one by one.
update tenax.workflow_pause
   set resumed_by = $2::text, resumed_why = $3::text
 where workflow = $1::text and resumed_by is null
returning workflow
