-- Returns whether anything can happen by itself now, and else the next time at which something happens.
select exists (select from tenax.inbox)
       or exists (select from tenax.item where state = 'leased' or standing in ('ready', 'restricted') and available_at <= tenax.now()
                     or state = 'accepted' and expires_at <= tenax.now()) as busy,
       least((select min(available_at) from tenax.item where state = 'retrying' and stopped_by is distinct from 'pause'),
             (select min(expires_at) from tenax.item where state = 'accepted'),
             (select min(deadline_at) from tenax.execution where state = 'running')) as next
