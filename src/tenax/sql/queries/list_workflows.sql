-- Every stored definition, or those of one name; the newest first.
select name, version, hash, created_at from tenax.workflow
 where $1::text is null or name = $1
 order by name, id desc
 limit 1000
