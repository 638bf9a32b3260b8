-- Lists the 1000 workers with the latest heartbeats.
select w.name from (select name from tenax.worker order by last_heartbeat desc limit 1000) as w order by w.name
