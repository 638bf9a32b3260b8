select id, name, role, created_at, revoked_at
  from tenax.token
 order by id
