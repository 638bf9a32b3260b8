select n, execution_id, letter_id
  from tenax.bulk_item
 where job_id = $1 and state = 'pending'
 order by n
 limit $2::integer
