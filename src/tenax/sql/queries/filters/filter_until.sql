e.created_at < :moment::timestamptz
