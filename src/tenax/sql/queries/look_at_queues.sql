-- How long the oldest common ready item of each level has waited, of those that are new and of those that are retried; and the
-- lanes of what is not common, ready or to be retried, and how long the oldest of the first lane has waited (below 0: it is not due).
select q.queue, p.priority,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.state = s.state[1] and i.leasable and i.common
              and i.available_at <= tenax.now()
            order by i.available_at limit 1))::double precision as fresh,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.state = s.state[2] and i.leasable and i.common
              and i.available_at <= tenax.now()
            order by i.available_at limit 1))::double precision as again,
       (select i.lane from tenax.item i
         where i.queue = q.queue and i.priority = p.priority and i.leasable and not i.common
         order by i.lane limit 1) as lowest_lane,
       (select i.lane from tenax.item i
         where i.queue = q.queue and i.priority = p.priority and i.leasable and not i.common
         order by i.lane desc limit 1) as highest_lane,
       extract(epoch from tenax.now() - (
           select i.available_at from tenax.item i
            where i.queue = q.queue and i.priority = p.priority and i.leasable and not i.common
            order by i.lane, i.available_at limit 1))::double precision as lowest_waited
  from unnest($1::text[]) as q (queue)
 cross join (select g::smallint from generate_series(0, 9) as g) as p (priority)
 -- Not as constants: the planner would take the index of the due retries of all queues for these.
 cross join (select array_agg(x) as state from unnest(array['queued', 'retrying']) as x) as s
