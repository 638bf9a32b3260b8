l.last_at < :moment::timestamptz
