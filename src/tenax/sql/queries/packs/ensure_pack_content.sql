-- Stores a content, still without its chunks, or keeps the one that is there. Returns whether it is new.
insert into tenax.pack_content (hash, chunks) values ($1::text, $2::integer)
    on conflict (hash) do update set released_at = null
returning xmax = 0
