"""One HTTP exchange within limits: connection, answer, body, cookies."""
