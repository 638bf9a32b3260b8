(e.parent_id = any(:ids::bigint[]) or :orphans::boolean and e.parent_id is null)
