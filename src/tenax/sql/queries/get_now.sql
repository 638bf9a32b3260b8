select tenax.now()
