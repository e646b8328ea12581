"""fscrawl: a crawler for a few machines and a shared directory."""

__version__ = "1.0.0rc1"
