insert into tenax.log (at, events) select tenax.now(), x.events from unnest($1::json[]) as x (events)
