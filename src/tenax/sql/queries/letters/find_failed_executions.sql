-- Finds executions whose log may have a failure that needs a dead letter. Texts of users may look the same, so the caller reads
-- the events.
select distinct l.execution_id
  from tenax.log l
 where l.execution_id is not null
   and l.events ~ '"type": ?"(step_failed_terminal|item_failed|compensation_failed|retry_held|compensation_retry)"'
 order by l.execution_id
