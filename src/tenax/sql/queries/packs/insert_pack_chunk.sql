insert into tenax.pack_chunk (hash, n, data) values ($1::text, $2::integer, $3::bytea)
