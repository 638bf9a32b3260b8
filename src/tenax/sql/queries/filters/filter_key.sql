(e.submit_key = any(:exact::text[]) or e.submit_key like any(:patterns::text[]))
