-- Returns the databases of test runs whose connection, which has the name of the run, has ended. Only their owner may drop them.
select d.datname
  from pg_database d
  join pg_roles r on r.oid = d.datdba and r.rolname = current_user
 where d.datname ~ '^tenax_test_[0-9a-f]+_[0-9]+$'
   and not exists (select from pg_stat_activity a
                    where a.application_name = substring(d.datname from '^tenax_test_[0-9a-f]+'))
