-- Returns ids for a batch of executions, the executions that already have one of the keys, and the time.
select tenax.now() as now,
       array(select nextval('tenax.execution_id') from generate_series(1, $1::integer)) as ids,
       array(select e.submit_key from tenax.execution e where e.submit_key = any($2::text[]) order by e.id) as known_keys,
       array(select e.id from tenax.execution e where e.submit_key = any($2::text[]) order by e.id) as known_ids
