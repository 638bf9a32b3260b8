select count(*)::integer from tenax.schedule
