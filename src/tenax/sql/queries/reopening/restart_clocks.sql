-- Lets the time of `give_up_after` of these items start anew.
update tenax.item set created_at = $2::timestamptz where id = any($1::bigint[])
