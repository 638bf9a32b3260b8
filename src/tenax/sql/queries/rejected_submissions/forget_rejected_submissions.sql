-- Deletes the submissions that were rejected more than $1 seconds ago.
delete from tenax.rejected_submission where rejected_at < tenax.now() - make_interval(secs => $1::double precision)
