select oldest_schema from tenax.service
