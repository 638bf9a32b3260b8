-- Items that nothing would ever wake, put right: a hold or a wait that has no end to it, a limit that is not there.
with stuck as (
    select i.id, i.state,
           case when i.state = 'held' then 'it was held without an end'
                when i.state = 'accepted' then 'it waited without an end'
                else 'it waited at no limit' end as why
      from tenax.item i
     where i.state = 'held' and i.timeout_at is null
        or i.state = 'accepted' and i.timeout_at is null and i.awaiting in ('sleep', 'callback')
        or i.blocked and i.action_gate is null and i.key_gate is null
     limit 500
       for update skip locked
)
update tenax.item i
   set timeout_at = case s.state when 'held' then tenax.now() + make_interval(secs => $1::double precision)
                                 when 'accepted' then tenax.now() else i.timeout_at end,
       blocked = false
  from stuck s
 where i.id = s.id
returning i.id, i.execution_id, i.step, i.item_no, s.why
