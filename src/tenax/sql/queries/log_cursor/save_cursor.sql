update tenax.roll_up set counted = $1::bigint, open = $2::bigint[], floor = $3::bigint, counted_at = to_timestamp($4::double precision)
