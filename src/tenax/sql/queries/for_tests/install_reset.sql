-- Remembers what a migrated database is like, and offers functions that bring it back to that. For tests only.
create schema reset;

create function reset.schema_digest() returns text
    language sql
    as $$
with relation as (
  select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'reset') and n.nspname not like 'pg\_temp%'
     and n.nspname not like 'pg\_toast\_temp%' and (n.nspname, c.relname) <> ('tenax', 'fake_clock')
), fact as (
  select format('namespace %s', nspname) as fact from pg_namespace where nspname not like 'pg\_%'
  union all
  select format('relation %s %s %s %s', oid, relname, relkind, reloptions) from relation
  union all
  select format('column %s %s %s %s %s %s', a.attrelid, a.attname, a.atttypid, a.attnotnull, a.atthasdef, a.attisdropped)
    from pg_attribute a join relation r on r.oid = a.attrelid where a.attnum > 0
  union all
  select format('constraint %s %s %s', oid, conname, convalidated) from pg_constraint where connamespace <> 'pg_catalog'::regnamespace
  union all
  select format('trigger %s %s %s', oid, tgname, tgenabled) from pg_trigger
  union all
  select format('index %s %s', indexrelid, indisvalid) from pg_index where indrelid in (select oid from relation)
  union all
  select format('function %s %s', oid, proname) from pg_proc where pronamespace in ('tenax'::regnamespace, 'public'::regnamespace)
  union all
  select format('settings %s %s', setrole, setconfig) from pg_db_role_setting
   where setdatabase in (0, (select oid from pg_database where datname = current_database()))
)
select md5(string_agg(fact, e'\n' order by fact)) from fact
$$;

-- A fake clock replaces some.
create table reset.function_source as
select oid, prosrc, pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'tenax'::regnamespace;

create table reset.service as table tenax.service;
create table reset.roll_up as table tenax.roll_up;
create table reset.schema_migration as table tenax.schema_migration;

create function reset.end_other_sessions() returns void
    language sql
    as $$
select pg_terminate_backend(pid, 10000) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
$$;

-- Returns whether the schema is as it was: only then may the database be used again.
create function reset.empty_tables() returns boolean
    language plpgsql
    as $$
declare
    changed text;
    filled text;
begin
    drop table if exists tenax.fake_clock;
    for changed in
        select f.definition from reset.function_source f join pg_proc p on p.oid = f.oid where p.prosrc is distinct from f.prosrc
    loop
        execute changed;
    end loop;
    if reset.schema_digest() <> (select digest from reset.known) then
        return false;
    end if;
    select string_agg(oid::regclass::text, ', ') into filled
      from pg_class where relnamespace = 'tenax'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0;
    execute 'truncate ' || filled || ' cascade';
    insert into tenax.service select * from reset.service;
    insert into tenax.roll_up select * from reset.roll_up;
    insert into tenax.schema_migration select * from reset.schema_migration;
    perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences where schemaname = 'tenax';
    return true;
end
$$;

create table reset.known as select reset.schema_digest() as digest;
