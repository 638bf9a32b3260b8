-- Takes the results that transactions have recorded under these lease tokens.
delete from tenax.attempt_result where lease_token = any($1::uuid[]) returning lease_token::text, result
