-- Finds the keys whose limit is reached.
select (i.limits).key as name
      from tenax.item i
     where (i.limits).key is not null and i.standing = 'running'
     group by 1
    having count(*) >= max((i.limits).key_most)
