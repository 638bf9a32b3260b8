select * from tenax.bulk_job where id = $1 for update
