l.message ilike any(:contained::text[])
