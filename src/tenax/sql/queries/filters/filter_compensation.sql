e.compensation = any(:stored::text[])
