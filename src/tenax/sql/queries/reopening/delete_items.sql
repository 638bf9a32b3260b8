delete from tenax.item where id = any($1::bigint[])
