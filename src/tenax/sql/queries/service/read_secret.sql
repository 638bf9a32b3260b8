-- Reads the secret from which receipts are made.
select secret from tenax.service
