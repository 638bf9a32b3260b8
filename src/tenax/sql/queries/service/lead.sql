-- Makes this server the leader for $2 seconds, unless another server leads. A time that is further ahead than it can be
-- is from before the clock was set back. (The limit is twice the lease, because a server that waited here for the row
-- has read an earlier time.)
update tenax.service
   set leader = $1::uuid, leader_until = tenax.now() + make_interval(secs => $2::double precision)
 where leader is null or leader = $1 or leader_until < tenax.now()
    or leader_until > tenax.now() + make_interval(secs => 2 * $2)
returning true
