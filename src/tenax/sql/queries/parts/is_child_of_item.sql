-- Is true if execution `c` is the child that the current attempt of item `i` has started.
c.parent_id = i.execution_id and c.parent_step = i.step and coalesce(c.parent_item_no, -1) = coalesce(i.item_no, -1)
    and c.parent_attempt = i.attempt
