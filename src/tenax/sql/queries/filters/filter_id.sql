e.id = any(:ids::bigint[])
