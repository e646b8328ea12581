"""Parts of docs/ that are made from the code: tables of options, settings, columns and fields, and Python's API.

Such a part stands between two comments in its Markdown file, so that the file can be read where it is:

    <!-- made from the code, by make docs-write: settings crawl -->
    …
    <!-- end of what is made -->

`python -m tools.reference` writes all parts anew. tests/component/test_docs.py fails if one is not as it would be
written. A fact of such a part is changed where the code says it: in the help of an option, the text of a setting, a
docstring.
"""
