-- Saves a filter. Returns whether the name was free.
insert into tenax.saved_filter (name, filter, actor, saved_at)
values ($1, $2, $3, tenax.now())
    on conflict (name) do update
   set filter = excluded.filter, actor = excluded.actor, saved_at = excluded.saved_at
returning xmax = 0
