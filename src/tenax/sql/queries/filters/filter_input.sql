(e.input #>> :path::text[] = any(:exact::text[]) or e.input #>> :path::text[] like any(:patterns::text[]))
