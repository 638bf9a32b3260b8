(l.reason = any(:exact::text[]) or l.reason like any(:patterns::text[]))
