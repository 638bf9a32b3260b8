select step, state, attempts, result, failure, failures from tenax.step where execution_id = $1::bigint and state <> 'pending'
