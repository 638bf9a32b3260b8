-- How many run under each of these limits now.
select x.gate,
       (select count(*) from tenax.item i where i.action_gate = x.gate and i.state in ('leased', 'accepted'))
       + (select count(*) from tenax.item i where i.key_gate = x.gate and i.state in ('leased', 'accepted')) as running
  from unnest($1::text[]) as x (gate)
