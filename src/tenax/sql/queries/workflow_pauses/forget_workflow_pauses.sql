-- Forgets the pauses that are over: no execution waits for its resumption any more.
delete from tenax.workflow_pause wp
 where wp.resumed_by is not null and not exists (select from tenax.workflow_paused x where x.workflow = wp.workflow)
