-- Counts executions by state: among the newest $1 open ones, the newest $1 unsuccessful ones, and the newest $1 of all. Each
-- number is that of all executions if fewer than $1 were there to look at.
select o.looked as open_looked, o.running, o.paused, u.looked as unsuccessful_looked, u.failed, u.cancelled,
       n.looked as newest_looked, n.completed
  from (
    select count(*) as looked, count(*) filter (where e.state = 'running' and :conditions) as running,
           count(*) filter (where e.state = 'paused' and :conditions) as paused
      from (select * from tenax.execution where state in ('running', 'paused') order by id desc limit $1::bigint) as e
  ) as o
 cross join (
    select count(*) as looked, count(*) filter (where e.state = 'failed' and :conditions) as failed,
           count(*) filter (where e.state = 'cancelled' and :conditions) as cancelled
      from (select * from tenax.execution where state in ('failed', 'cancelled') order by id desc limit $1) as e
  ) as u
 cross join (
    select count(*) as looked, count(*) filter (where e.state = 'completed' and :conditions) as completed
      from (select * from tenax.execution order by id desc limit $1) as e
  ) as n
