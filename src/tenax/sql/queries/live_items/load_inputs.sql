select id, input from tenax.execution where id = any($1::bigint[]) and input is not null
