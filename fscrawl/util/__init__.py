"""Small helpers that know nothing about crawling."""
