-- One server looks after the fleet, for $2 seconds at a time. Nothing is changed where another does.
update tenax.service
   set leader = $1::uuid, leader_until = tenax.now() + make_interval(secs => $2::double precision)
 where leader is null or leader = $1 or leader_until < tenax.now()
returning true
