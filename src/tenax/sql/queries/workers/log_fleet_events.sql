insert into tenax.log (at, events) select tenax.now(), x.events from unnest($1::text[]) as x (events)
