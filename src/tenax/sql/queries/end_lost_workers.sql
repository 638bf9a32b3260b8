-- Workers that have been silent for $1 seconds are gone; those that were gone for $2 are forgotten.
with forgotten as (
    delete from tenax.worker
     where state = 'gone' and last_heartbeat < tenax.now() - make_interval(secs => $2::double precision)
), lost as (
    update tenax.worker set state = 'gone'
     where state <> 'gone' and last_heartbeat < tenax.now() - make_interval(secs => $1::double precision)
    returning name, last_heartbeat
)
insert into tenax.log (at, events)
select tenax.now(), jsonb_build_array(jsonb_build_object('type', 'worker_lost', 'data', jsonb_build_object(
           'worker', name, 'last_heartbeat', last_heartbeat)))
  from lost
