-- Removes the usage that ended attempts have reported, and the reservations of items that are gone.
with told as (
    delete from tenax.attempt_usage u
     where not exists (select from tenax.item i where i.id = u.item_id and i.lease_token = u.lease_token)
)
delete from tenax.reservation r where not exists (select from tenax.item i where i.id = r.item_id)
