-- Notes the executions that were paused with a workflow.
insert into tenax.workflow_paused (execution_id, workflow)
select x.id, x.workflow from unnest($1::bigint[], $2::text[]) as x (id, workflow)
    on conflict (execution_id) do nothing
