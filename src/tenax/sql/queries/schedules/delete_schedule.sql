delete from tenax.schedule where name = $1::text returning name
