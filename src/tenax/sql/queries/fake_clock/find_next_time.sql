-- Returns whether anything can happen by itself now, and else the next time at which something happens. Nobody reports the
-- leases with the tokens in $1, which therefore expire. The attempts with the tokens in $2 run until their timeout. A look at
-- a schedule whose tick waits for the end of an execution changes nothing before that.
with looks as (
    select case when s.waiting = '[]' or e.id is null or e.finished_at is not null then s.look_at else s.next_tick end as at
      from tenax.schedule s
      left join tenax.execution e on e.id = s.last_execution
     where s.look_at is not null
)
select exists (select from tenax.inbox)
       or exists (select from tenax.item
                   where state = 'leased' and lease_token <> all($1::uuid[] || $2::uuid[])
                      or standing in ('ready', 'restricted') and available_at <= tenax.now()
                      or state = 'accepted' and expires_at <= tenax.now())
       or exists (select from tenax.delayed_start where start_at <= tenax.now())
       or exists (select from looks where at <= tenax.now()) as busy,
       least((select min(available_at) from tenax.item where state = 'retrying' and stopped_by is distinct from 'pause'),
             (select min(expires_at) from tenax.item where state = 'accepted' or state = 'leased' and lease_token = any($1)),
             (select min(started_at + make_interval(secs => timeout))
                from tenax.item where state = 'leased' and lease_token = any($2)),
             (select min(deadline_at) from tenax.execution where state = 'running'),
             (select min(start_at) from tenax.delayed_start),
             (select min(at) from looks)) as next
