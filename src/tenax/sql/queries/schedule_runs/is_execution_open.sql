select exists (select from tenax.execution where id = $1::bigint and finished_at is null)
