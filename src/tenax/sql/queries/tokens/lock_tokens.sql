-- Keeps other transactions from making or revoking tokens until this one ends. They can still be read.
lock table tenax.token in share row exclusive mode
