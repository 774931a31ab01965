"""The server: pages, the API and what guards both; nothing below knows of HTTP.

`create_app` builds the application from settings, `app.web.serve` runs it. Handlers read a
request, call one function of a room below, and render.
"""

from app.web.application import create_app

__all__ = ["create_app"]
