-- Finds the items that were leased under these grants.
select id, execution_id, lease_token
  from tenax.item
 where state = 'leased' and lease_grant = any($1::uuid[]) and worker = $2::text
