-- Items of fan-outs that have ended, by the token of their lease; under the lock of their execution.
delete from tenax.item i
 using unnest($1::text::bigint[], string_to_array($2::text, E'\n')::uuid[]) as t (id, token)
 where i.id = t.id and i.lease_token = t.token
returning i.id
