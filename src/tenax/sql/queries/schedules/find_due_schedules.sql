-- Finds schedules to look at now, at most $1, the ones that have waited longest first.
select name, workflow from tenax.schedule where look_at <= tenax.now() order by look_at limit $1::integer
