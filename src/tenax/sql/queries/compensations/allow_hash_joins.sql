-- Until `disallow_hash_joins`, statements of this transaction are planned for their arguments, and may use hash joins.
-- Planned sessions join row by row, and elsewhere a plan made without statistics may do so too: for two large sets
-- without an index that is quadratic.
set local plan_cache_mode to force_custom_plan;
set local enable_hashjoin to on;
set local enable_nestloop to off
