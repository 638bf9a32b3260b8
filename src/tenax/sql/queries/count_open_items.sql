-- What is still open of an execution: actions, compensations that have been started, compensations that have not.
select count(*) filter (where not compensates) as actions,
       count(*) filter (where compensates and state <> 'waiting') as compensating,
       count(*) filter (where compensates and state = 'waiting') as waiting
  from tenax.item
 where execution_id = $1::bigint
