-- Removes the progress of attempts that have ended.
delete from tenax.attempt_progress p
 where not exists (select from tenax.item i where i.id = p.item_id and i.lease_token = p.lease_token)
