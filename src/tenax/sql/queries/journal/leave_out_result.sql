-- Says in the place of a result why it is not there.
update tenax.execution set result = $2::jsonb where id = $1::bigint
