(l.class = any(:exact::text[]) or l.class like any(:patterns::text[]))
