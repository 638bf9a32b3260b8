-- Finds the sessions that hold a lock on the default partition of the log, by the names of their programs.
select distinct coalesce(nullif(a.application_name, ''), a.backend_type) || ' (process ' || a.pid || ')' as holder
  from pg_locks l
  join pg_stat_activity a on a.pid = l.pid
 where l.relation = 'tenax.log_default'::regclass and l.granted and a.pid <> pg_backend_pid()
 order by holder
