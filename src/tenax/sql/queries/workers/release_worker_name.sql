-- Frees the name of a worker. Returns no row if it was free already.
update tenax.worker set token_id = null where name = $1::text and token_id is not null returning true
