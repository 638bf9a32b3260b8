-- Inserts dead letters. A letter whose item is still there gets its id. All others get new ids.
insert into tenax.dead_letter
       (item_id, execution_id, workflow, step, item_no, compensates, status, tolerated, rule, class, reason, message, fingerprint,
        attempts, failed_times, first_at, last_at, changed_at)
select coalesce(i.id, nextval('tenax.item_id')), x.execution_id, w.name, x.step, x.item_no, x.compensates, x.status, x.tolerated,
       x.rule, x.failure_class, x.reason, x.message, x.fingerprint, x.attempts, x.failed_times, x.first_at, x.last_at, x.last_at
  from jsonb_to_recordset($1::text::jsonb)
    as x (execution_id bigint, step text, item_no integer, compensates boolean, status text, tolerated boolean, rule text,
          failure_class text, reason text, message text, fingerprint text, attempts integer, failed_times integer,
          first_at timestamptz, last_at timestamptz)
  join tenax.execution e on e.id = x.execution_id
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
  left join tenax.item i on i.execution_id = x.execution_id and i.step = x.step and i.item_no is not distinct from x.item_no
                        and i.compensates = x.compensates
