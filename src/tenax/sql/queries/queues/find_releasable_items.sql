-- Finds quarantined items (without those in $2) that have cost fewer workers and leases than $1, or all quarantined
-- items if $1 is 0. They exist if the setting was changed after they were held.
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'held' and i.queue <> 'tenax:budget' and i.ledger ? 'lost_by' and i.id <> all($2::bigint[])
   and ($1::integer = 0
        or jsonb_array_length(i.ledger -> 'lost_by') < $1 and coalesce((i.ledger #>> '{by_class,worker_lost}')::integer, 0) < $1)
 order by i.id
 limit 500
