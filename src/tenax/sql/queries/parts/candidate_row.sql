-- The columns of an item `i` that a Candidate has, in its order.
i.id, i.queue, i.runtime, i.labels, i.refused_by, i.suspect, i.priority,
           extract(epoch from tenax.now() - i.available_at)::double precision as waited, i.state = 'retrying' as is_retry,
           i.lane, (i.limits).action, (i.limits).action_most, (i.limits).key, (i.limits).key_most
