-- Loads the workers that matter when work is distributed: live workers, workers with a requested state, and workers
-- that were not healthy when they went.
select w.name, w.life::text as life, case when w.state = 'gone' then w.wanted else w.state end as state, w.health,
       coalesce(w.probe_at <= tenax.now(), false) as probe, coalesce(l.n, 0)::integer as depth, w.protocol
  from tenax.worker w
  left join (select worker, count(*) as n from tenax.item where state = 'leased' group by worker) as l on l.worker = w.name
 where w.state <> 'gone' or w.wanted <> 'active' or w.health = 'unhealthy'
