-- As many as may are running: these wait for one of them to end.
update tenax.item set blocked = true where id = any($1::bigint[])
