-- Returns the first $2 items of a job that were skipped or failed.
select b.execution_id as id, b.letter_id as letter, b.state, b.note
  from tenax.bulk_item b
 where b.job_id = $1 and b.state in ('skipped', 'failed')
 order by b.state, b.n
 limit $2::integer
