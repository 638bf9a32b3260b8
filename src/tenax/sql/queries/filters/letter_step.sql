(l.step = any(:exact::text[]) or l.step like any(:patterns::text[]))
