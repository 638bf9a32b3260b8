-- Stores the largest submission that `tenax.submit` may take.
update tenax.service set max_body = $1::bigint where max_body is distinct from $1
