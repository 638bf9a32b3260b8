select counted_at from tenax.roll_up
