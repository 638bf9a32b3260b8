-- Returns what the trees of these executions have spent.
select execution_id, spent_usd, spent_tokens from tenax.budget where execution_id = any($1::bigint[])
