-- No row: the name is anyone's already.
update tenax.worker set token_id = null where name = $1::text and token_id is not null returning true
