"""What is going on: one snapshot of the crawl, and the commands and pages that show it. Changes nothing."""
