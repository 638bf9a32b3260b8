select reset.end_other_sessions()
