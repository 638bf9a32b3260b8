set local plan_cache_mode to default;
set local enable_hashjoin to default;
set local enable_nestloop to default
