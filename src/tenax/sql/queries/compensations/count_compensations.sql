select count(*) filter (where type = 'compensation_completed') as completed,
       count(*) filter (where type = 'compensation_failed') as failed
  from tenax.event
 where execution_id = $1::bigint
