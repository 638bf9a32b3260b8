delete from tenax.inbox where id = any($1::bigint[])
