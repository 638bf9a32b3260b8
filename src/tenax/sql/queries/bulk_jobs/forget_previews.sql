-- Forgets previews that nobody started within $1 seconds.
delete from tenax.bulk_job where state = 'preview' and created_at < tenax.now() - make_interval(secs => $1::double precision)
