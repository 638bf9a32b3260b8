($2::bigint is null or l.execution_id = $2) and ($3::text is null or l.workflow = $3) and ($4::text is null or l.step = $4)
       and ($5::text is null or l.class = $5) and ($6::text is null or l.reason = $6) and ($7::text is null or l.fingerprint = $7)
       and ($8::timestamptz is null or l.last_at >= $8) and ($9::timestamptz is null or l.last_at < $9)
