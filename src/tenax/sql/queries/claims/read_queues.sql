-- Reads each priority of these queues ($1): how long the oldest ready unrestricted item has waited, for new items and
-- for retries; the lowest and the highest lane of restricted items, due or not; and how long the oldest item of the
-- lowest lane has waited (negative if it is not due).
select q.queue, p.priority,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.state = s.state[1] and i.standing = 'ready'
              and i.available_at <= tenax.now()
            order by i.available_at limit 1))::double precision as new_waited,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.state = s.state[2] and i.standing = 'ready'
              and i.available_at <= tenax.now()
            order by i.available_at limit 1))::double precision as retry_waited,
       (select i.lane from tenax.item i
         where i.queue = q.queue and i.priority = p.priority and i.standing = 'restricted'
         order by i.lane limit 1) as first_lane,
       (select i.lane from tenax.item i
         where i.queue = q.queue and i.priority = p.priority and i.standing = 'restricted'
         order by i.lane desc limit 1) as last_lane,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.standing = 'restricted'
            order by i.lane, i.available_at limit 1))::double precision as first_lane_waited
  from unnest($1::text[]) as q (queue)
 cross join (select g::smallint from generate_series(0, 9) as g) as p (priority)
 -- The states are given as parameters. For constants the planner would read the index of all due retries (item_due).
 cross join (select array_agg(x) as state from unnest(array['queued', 'retrying']) as x) as s
