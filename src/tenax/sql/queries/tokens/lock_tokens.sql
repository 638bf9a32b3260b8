-- Nobody else makes or revokes a token until the transaction ends; they are read all the same.
lock table tenax.token in share row exclusive mode
