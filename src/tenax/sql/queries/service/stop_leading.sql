update tenax.service set leader = null, leader_until = null where leader = $1::uuid
