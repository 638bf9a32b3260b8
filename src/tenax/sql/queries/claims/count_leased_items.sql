-- Counts the leased items of each of these queues.
select queue, count(*) as running from tenax.item where state = 'leased' and queue = any($1::text[]) group by queue
