-- The reasons of a live item's failures are only in the log, which is read for items that have failed. `events` holds
-- `"reason":"NAME"`, and the sentences under the same key do not look like names. `offset 0` keeps PostgreSQL from reading
-- all live items and their logs at once, to compare each execution with the result.
(e.failure ->> 'reason' = any(:exact::text[]) or e.failure ->> 'reason' like any(:patterns::text[])
 or exists (select
               from tenax.item i
               join tenax.log l on l.execution_id = i.execution_id and l.at >= i.created_at
              where i.execution_id = e.id and i.ledger is not null and l.events like any(:logged::text[])
             offset 0))
