update tenax.item set suspect = true where id = any($1::bigint[])
