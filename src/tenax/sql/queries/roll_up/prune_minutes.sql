-- Deletes rows that are older than $1 seconds, at most $2 of each table.
with before as materialized (
    select tenax.now() - make_interval(secs => $1::double precision) as at
), attempts as (
    delete from tenax.attempt_minute where ctid = any(array(
        select t.ctid from tenax.attempt_minute t where t.minute < (select at from before) limit $2::bigint)) returning 1
), workers as (
    delete from tenax.worker_minute where ctid = any(array(
        select t.ctid from tenax.worker_minute t where t.minute < (select at from before) limit $2::bigint)) returning 1
), events as (
    delete from tenax.event_minute where ctid = any(array(
        select t.ctid from tenax.event_minute t where t.minute < (select at from before) limit $2::bigint)) returning 1
), lateness as (
    delete from tenax.lateness_minute where ctid = any(array(
        select t.ctid from tenax.lateness_minute t where t.minute < (select at from before) limit $2::bigint)) returning 1
), forgotten as (
    -- Retries whose end was never recorded.
    delete from tenax.retry_underway where ctid = any(array(
        select t.ctid from tenax.retry_underway t where t.at < (select at from before) limit $2::bigint)) returning 1
)
select (select count(*) from attempts) + (select count(*) from workers) + (select count(*) from events)
       + (select count(*) from lateness) + (select count(*) from forgotten)
