-- Tells the parents of these executions, which have just ended.
insert into tenax.inbox (execution_id, kind, body, created_at)
select e.parent_id, 'child_ended', jsonb_build_object('child', e.id, 'item', e.parent_item, 'attempt', e.parent_attempt), $2::timestamptz
  from tenax.execution e
 where e.id = any($1::bigint[]) and e.parent_id is not null and e.finished_at is not null
