-- Clears the records of these workers.
with windows as (
    delete from tenax.worker_window where worker = any($1::text[])
), losses as (
    delete from tenax.worker_loss where worker = any($1::text[])
)
update tenax.worker set streak = 0, recovering_since = null where name = any($1::text[])
