(l.workflow = any(:exact::text[]) or l.workflow like any(:patterns::text[]))
