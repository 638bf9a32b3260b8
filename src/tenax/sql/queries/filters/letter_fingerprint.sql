l.fingerprint = any(:exact::text[])
