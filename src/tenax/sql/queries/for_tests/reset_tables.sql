select reset.empty_tables()
