select state, wanted, state_actor, health from tenax.worker where name = $1::text for update
