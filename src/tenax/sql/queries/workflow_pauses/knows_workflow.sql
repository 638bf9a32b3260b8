select exists (select from tenax.workflow where name = $1::text)
