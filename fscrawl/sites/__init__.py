"""How a site is crawled that is not made of links: what its pages are asked for, and what they must have."""
