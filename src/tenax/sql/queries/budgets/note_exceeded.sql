-- Notes that these budgets have been exceeded.
update tenax.budget set exceeded_at = coalesce(exceeded_at, $2::timestamptz) where execution_id = any($1::bigint[])
