"""What to fetch next: seen URLs, queues by host, scope and limits."""
