-- Lists each queue that has work, a limit or a live worker (heard of within $1 seconds).
with work as (
    select i.queue,
           count(*) filter (where i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()) as ready,
           count(*) filter (where i.state = 'retrying' and i.available_at > tenax.now()) as waiting,
           count(*) filter (where i.state = 'leased') as running,
           count(*) filter (where i.standing = 'blocked') as blocked,
           min(i.available_at) filter (where i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()) as oldest_at
      from tenax.item i
     where i.queue <> $2::text and i.queue <> 'tenax:budget'
     group by i.queue
), served as (
    select q.queue, count(*) filter (where w.state = 'active') as workers,
           jsonb_agg(jsonb_build_object('name', w.name, 'state', w.state, 'state_actor', w.state_actor, 'health', w.health)
                     order by w.name) filter (where w.state <> 'active') as idle
      from tenax.worker w
     cross join lateral unnest(w.queues) as q (queue)
     where w.state <> 'gone' and w.serves is null and w.last_heartbeat > tenax.now() - make_interval(secs => $1::double precision)
     group by q.queue
)
select queue, coalesce(w.ready, 0)::integer as ready, coalesce(w.waiting, 0)::integer as waiting,
       coalesce(w.running, 0)::integer as running, coalesce(w.blocked, 0)::integer as blocked, w.oldest_at,
       coalesce(s.workers, 0)::integer as workers, coalesce(s.idle, '[]') as idle, l.concurrency, l.rate, l.burst,
       l.paused_by, l.paused_why, l.paused_at
  from work w
  full join served s using (queue)
  full join tenax.queue_limit l using (queue)
 order by queue
