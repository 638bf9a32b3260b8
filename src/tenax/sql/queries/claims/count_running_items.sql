-- Counts the items that run under each of these limits now.
select x.name,
       (select count(*) from tenax.item i where (i.limits).action = x.name and i.standing = 'running')
       + (select count(*) from tenax.item i where (i.limits).key = x.name and i.standing = 'running') as running
  from unnest($1::text[]) as x (name)
