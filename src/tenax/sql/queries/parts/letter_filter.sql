($2::text is null or l.workflow = $2) and ($3::text is null or l.step = $3) and ($4::text is null or l.class = $4)
       and ($5::text is null or l.reason = $5) and ($6::text is null or l.fingerprint = $6)
       and ($7::timestamptz is null or l.last_at >= $7) and ($8::timestamptz is null or l.last_at < $8)
