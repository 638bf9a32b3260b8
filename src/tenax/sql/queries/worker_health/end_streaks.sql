-- Ends the streaks of these workers together with the verdicts based on them: failures in a row, and losses since the
-- last success. The failures that a worker reported are cleared too: it clears its own count when it is told that it
-- is healthy.
with losses as (
    update tenax.worker_loss set at = '-infinity' where worker = any($1::text[])
)
update tenax.worker
   set streak = 0, reported = case when reported is null then null else reported || '{"consecutive_failures": 0}' end
 where name = any($1)
