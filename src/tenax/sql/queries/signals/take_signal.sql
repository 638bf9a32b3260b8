-- Gives the oldest free signal of this name to the item.
update tenax.signal s
   set taken_by = $3::bigint
 where s.id = (select f.id from tenax.signal f
                where f.execution_id = $1::bigint and f.name = $2::text and f.taken_by is null
                order by f.id limit 1)
returning s.data, s.actor, s.created_at
