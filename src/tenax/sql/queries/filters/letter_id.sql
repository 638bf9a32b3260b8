l.item_id = any(:ids::bigint[])
