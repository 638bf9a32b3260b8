-- Replaces a result by the reason for which it is missing.
update tenax.execution set result = $2::jsonb where id = $1::bigint
