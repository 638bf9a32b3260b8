-- The log is written as text that PostgreSQL checks and does not take apart: only readers do. This writes the whole log anew, once.
drop view tenax.event;
alter table tenax.log alter column events type json using events::text::json;
create view tenax.event as
    select l.id + e.n - 1 as id,
           row_number() over (partition by l.execution_id order by l.id, e.n) as seq,
           e.event ->> 'type' as type,
           l.at,
           l.execution_id,
           e.event ->> 'step' as step,
           (e.event ->> 'item')::integer as item,
           (e.event ->> 'attempt')::integer as attempt,
           coalesce(e.event -> 'data', '{}'::jsonb) as data,
           l.xid
      from tenax.log l
     cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n);

-- An item has what its worker needs to know: a lease need not look at the execution.
alter table tenax.item add column base_dir text;
update tenax.item i set base_dir = e.base_dir from tenax.execution e where e.id = i.execution_id and e.base_dir is not null;

-- Room on each page for what an execution becomes.
alter table tenax.execution set (fillfactor = 85);

-- New work and retries that are due take turns: each kind of a level has an order of its own.
drop index tenax.item_ready;
create index item_ready on tenax.item (queue, priority, state, available_at) where leasable and common;

-- Vacuum would offer what is left on old pages to new rows, and spread them all over the old log.
do $$
declare
    part regclass;
begin
    for part in select inhrelid::regclass from pg_inherits where inhparent = 'tenax.log'::regclass loop
        execute format('alter table %s set (autovacuum_vacuum_insert_threshold = -1)', part);
    end loop;
end
$$;

-- Makes the partitions of this month and the next ones. Idempotent; the servers call it now and then.
create or replace function tenax.ensure_log_partitions(months integer) returns void
    language plpgsql
    as $$
declare
    month date := date_trunc('month', statement_timestamp() at time zone 'UTC')::date;
    name  text;
begin
    for n in 0..months loop
        name := 'log_' || to_char(month, 'YYYYMM');
        if to_regclass('tenax.' || name) is null then
            begin
                execute format(
                    'create table tenax.%I partition of tenax.log for values from (%L) to (%L)'
                    ' with (autovacuum_vacuum_insert_threshold = -1)',
                    name, month::timestamp at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
            exception
                -- The default partition holds rows of that month already (no server ran when it began): it keeps the rest.
                when check_violation then null;
                -- Another server was quicker.
                when duplicate_table then null;
            end;
        end if;
        month := (month + interval '1 month')::date;
    end loop;
end
$$;

