insert into tenax.log (at, events) select tenax.now(), x.events from unnest($1::jsonb[]) as x (events)
