update tenax.schedule set last_execution = $2::bigint where name = $1::text
