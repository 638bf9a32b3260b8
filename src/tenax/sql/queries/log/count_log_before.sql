-- Counts the events of an execution below the row $2 of its log. Returns also the latest time of them.
select coalesce(sum(json_array_length(l.events::json)), 0)::bigint as seq, max(l.at) as at
  from tenax.log l
 where l.execution_id = $1::bigint and l.id < $2::bigint
