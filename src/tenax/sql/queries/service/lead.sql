-- One server looks after the fleet, for $2 seconds at a time. Nothing is changed where another does. A time that lies further ahead than
-- it can is of a clock that was set back since. (Twice as far: who waited here for the row asked by an earlier time.)
update tenax.service
   set leader = $1::uuid, leader_until = tenax.now() + make_interval(secs => $2::double precision)
 where leader is null or leader = $1 or leader_until < tenax.now()
    or leader_until > tenax.now() + make_interval(secs => 2 * $2)
returning true
