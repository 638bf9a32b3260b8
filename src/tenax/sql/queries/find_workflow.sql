-- The newest definition under this name.
select body from tenax.workflow where name = $1::text order by id desc limit 1
