-- Whether anything can go on by itself now, and else the next time at which something happens.
select exists (select from tenax.inbox)
       or exists (select from tenax.item where state = 'leased' or leasable and available_at <= tenax.now()
                     or state = 'accepted' and timeout_at <= tenax.now()) as busy,
       least((select min(available_at) from tenax.item where state = 'retrying' and not paused),
             (select min(timeout_at) from tenax.item where state = 'accepted'),
             (select min(deadline_at) from tenax.execution where state = 'running')) as next
