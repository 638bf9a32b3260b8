-- The planner knows nothing of the newest rows. In this transaction it must use the index by transactions.
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)
