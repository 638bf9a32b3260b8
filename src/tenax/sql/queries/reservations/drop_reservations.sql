-- Gives back what is reserved for these items.
delete from tenax.reservation where item_id = any($1::bigint[])
