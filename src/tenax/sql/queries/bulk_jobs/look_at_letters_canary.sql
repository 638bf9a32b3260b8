-- Counts the first $2 dead letters that a job has redriven: all, those whose items have ended since, and those that have
-- failed again.
select count(*)::integer as acted, count(*) filter (where l.status is distinct from 'redriven')::integer as settled,
       count(*) filter (where l.status in ('open', 'discarded'))::integer as failed
  from (select b.letter_id
          from tenax.bulk_item b
         where b.job_id = $1 and b.state = 'done'
         order by b.n
         limit $2::integer) as c
  left join tenax.dead_letter l on l.item_id = c.letter_id
