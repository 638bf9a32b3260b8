delete from tenax.workflow_paused where execution_id = any($1::bigint[])
