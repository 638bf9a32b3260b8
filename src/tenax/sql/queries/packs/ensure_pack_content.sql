-- Stores a content without its chunks, unless it is stored already. Returns whether it is new.
insert into tenax.pack_content (hash, chunks) values ($1::text, $2::integer)
    on conflict (hash) do update set released_at = null
returning xmax = 0
