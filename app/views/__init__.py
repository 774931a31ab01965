"""What a page or a terminal shows of a report: one question in, one JSON-able answer out.

Each view is one file with its function and the frozen struct it returns. A view is given parsed
modules, texts or a report and never opens anything; it never gives back more than its limits
allow, and says in a `Cut` what it left out and how to see it.
"""
