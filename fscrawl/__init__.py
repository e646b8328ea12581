"""fscrawl: a crawler for a few machines and a shared directory."""

__version__ = "0.1.0"
