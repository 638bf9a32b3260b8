-- Locks a schedule that is due. Returns nothing if another server has it, or has dealt with it. A server whose statement
-- waited for none sees the row as its last holder left it.
select s.*, tenax.now() as now
  from tenax.schedule s
 where s.name = $1::text and s.look_at <= tenax.now()
   for update skip locked
