-- The same clock, read at this very moment: for a time that must not be earlier than the locks that are held.
create function tenax.clock() returns timestamptz
    language sql volatile parallel safe
    as $$ select clock_timestamp() $$;

-- Makes the partitions of this month and the next ones. Idempotent; the servers call it now and then. A new partition is attached, and
-- not made in place: then whoever writes to the log need not wait, and whoever reads it waits only while the default partition is locked.
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
                    'create table tenax.%I (like tenax.log including defaults)'
                    ' with (autovacuum_vacuum_insert_threshold = -1)', name);
                execute format(
                    'alter table tenax.log attach partition tenax.%I for values from (%L) to (%L)',
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

-- One row for each event.
create or replace view tenax.event as
    select l.id + e.n - 1 as id,
           row_number() over (partition by l.execution_id order by l.id, e.n) as seq,
           e.event ->> 'type' as type,
           -- Transactions overlap: one that began earlier may have written later. No time is earlier than that of the event before.
           max(l.at) over (partition by l.execution_id order by l.id, e.n) as at,
           l.execution_id,
           e.event ->> 'step' as step,
           (e.event ->> 'item')::integer as item,
           (e.event ->> 'attempt')::integer as attempt,
           coalesce(e.event -> 'data', '{}'::jsonb) as data,
           l.xid
      from tenax.log l
     cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n);
