"""Bytes to links, text, fields and types: pure functions of what they are given."""
