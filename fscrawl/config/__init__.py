"""What people write for a crawl: crawl.toml and seeds.txt, read, checked, and watched for edits."""
