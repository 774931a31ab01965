"""A `Report` for people: terminal text, web page, offline page, Markdown.

Pure: takes a report and gives text. Reads nothing but its own templates and styles; never opens a
source file that a report names (lines of source are handed in by callers that may read them).
"""
