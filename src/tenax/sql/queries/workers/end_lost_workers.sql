-- Marks workers as gone that have been silent for $1 seconds, unless service was interrupted less than a lease ago.
-- Deletes workers that were gone for $2 seconds, with all that was known of them.
with forgotten as (
    delete from tenax.worker
     where state = 'gone' and last_heartbeat < tenax.now() - make_interval(secs => $2::double precision)
    returning name
), their_windows as (
    delete from tenax.worker_window
     where worker in (select name from forgotten) or bucket < tenax.now() - make_interval(secs => $3::double precision)
), their_losses as (
    delete from tenax.worker_loss
     where worker in (select name from forgotten) or ended < tenax.now() - make_interval(secs => greatest($3, 86400))
), lost as (
    update tenax.worker set state = 'gone'
     where state <> 'gone' and last_heartbeat < tenax.now() - make_interval(secs => $1::double precision)
       and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
    returning name, last_heartbeat
)
insert into tenax.log (at, events)
select tenax.now(), json_build_array(json_build_object('type', 'worker_lost', 'data', json_build_object(
           'worker', name, 'last_heartbeat', last_heartbeat)))
  from lost
