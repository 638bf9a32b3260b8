e.state = any(:exact::text[])
