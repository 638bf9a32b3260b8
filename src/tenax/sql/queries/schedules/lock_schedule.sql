-- Locks a schedule, and waits for a server that is at work on it.
select s.*, tenax.clock() as now from tenax.schedule s where s.name = $1::text for update
