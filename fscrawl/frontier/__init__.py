"""What to fetch next: shards and the URLs seen of them, queues by host, whose turn it is, retries, scope."""
