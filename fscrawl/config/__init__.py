"""What people write for a crawl: `crawl.toml` and `seeds.txt`. They are read, checked and watched for edits."""
