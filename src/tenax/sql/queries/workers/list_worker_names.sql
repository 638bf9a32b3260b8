-- Lists the 1000 workers that were heard of last.
select w.name from (select name from tenax.worker order by last_heartbeat desc limit 1000) as w order by w.name
