-- Finds results whose attempt has no lease any more. The end of an attempt takes its result, unless a person ended it.
select r.lease_token::text as token, r.item_id, r.execution_id, r.step, r.item_no, r.attempt
  from tenax.attempt_result r
 where not exists (select from tenax.item i where i.id = r.item_id and i.state = 'leased' and i.lease_token = r.lease_token)
 order by r.execution_id
 limit $1::integer
