"""The documentation as a site, made by MkDocs of the same Markdown files that can be read in the repository.

Promise: the site is made only if it is whole: each link and each anchor leads somewhere, each page is in the
navigation, and reading needs nothing from elsewhere: no fonts, no scripts, no pictures.
"""
