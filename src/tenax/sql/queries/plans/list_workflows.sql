-- Lists the definitions that were stored, or those of one name. Of each name, the one that the name finds comes first.
select name, version, hash, stored_at as created_at from tenax.workflow
 where stored_at is not null and ($1::text is null or name = $1)
 order by name, stored_at desc, id desc
 limit 1000
