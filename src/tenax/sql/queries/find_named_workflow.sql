-- The newest definition under this name, or under this name and version.
select body from tenax.workflow where name = $1::text and ($2::text is null or version = $2) order by id desc limit 1
