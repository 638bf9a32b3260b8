-- For the rest of the transaction statements are planned for their arguments, with every kind of join. Sessions that plan once forbid
-- hash joins: a statement that joins two large sets without an index would be quadratic there.
select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_hashjoin', 'on', true)
