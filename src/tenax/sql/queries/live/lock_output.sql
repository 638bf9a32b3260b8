-- Locks the output of these executions until the transaction ends, so that the ids of parts rise with the commits.
select pg_advisory_xact_lock(hashtextextended('tenax.output', x.id))
  from (select distinct id from unnest($1::bigint[]) as u (id) order by id) as x
