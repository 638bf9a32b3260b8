select name, taken_by from tenax.signal where execution_id = $1::bigint and key = $2::text
