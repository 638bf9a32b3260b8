delete from tenax.saved_filter where name = $1 returning name
