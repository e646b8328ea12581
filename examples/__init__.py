"""Crawls of whole sites, each with a server of our own that imitates the site: see README.md here."""
