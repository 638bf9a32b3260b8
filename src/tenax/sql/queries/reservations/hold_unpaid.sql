-- Puts held items in the line of those that wait for a budget.
update tenax.item set queue = 'tenax:budget' where id = any($1::bigint[])
