-- Locks how far the log is counted. Servers that count at the same time wait for each other here.
select counted, open, floor, counted_at from tenax.roll_up for update
