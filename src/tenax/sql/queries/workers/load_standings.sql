-- Loads the workers that matter to the distribution of work: each that is live, has a requested state, or was sick
-- when it went.
select w.name, w.life::text as life, case when w.state = 'gone' then w.wanted else w.state end as state, w.health,
       coalesce(w.probe_at <= tenax.now(), false) as probe, coalesce(l.n, 0)::integer as depth, w.protocol
  from tenax.worker w
  left join (select worker, count(*) as n from tenax.item where state = 'leased' group by worker) as l on l.worker = w.name
 where w.state <> 'gone' or w.wanted <> 'active' or w.health = 'unhealthy'
