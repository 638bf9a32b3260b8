l.execution_id = any(:ids::bigint[])
