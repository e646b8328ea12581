"""One HTTP exchange within limits: its connection, answer, body and cookies."""
