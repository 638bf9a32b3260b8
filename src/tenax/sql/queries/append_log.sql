insert into tenax.log (execution_id, at, events)
select x.execution_id, tenax.now(), x.events
  from unnest($1::bigint[], $2::jsonb[]) as x (execution_id, events)
