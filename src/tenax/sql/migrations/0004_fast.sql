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
