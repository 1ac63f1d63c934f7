"""What the server adds to Streamlit's answers: the chart's script comes with the page, and narrow windows are known.

Streamlit's pages load the library that draws charts (several megabytes) only when the first chart arrives, and the
browser then needs longer to read it than the server needed to compute the chart. A header of the page names that file,
so the browser fetches and reads it on another thread while it starts the page.

A page's script cannot ask how wide the window is. Browsers that know the hint ``Sec-CH-Viewport-Width`` say it with
each file that they fetch; a cookie carries it on to the session, before that begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from privexplorer.ui.shell import NARROW_COOKIE, PAGES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

WITHOUT_CHART = ("home", "sources", "about")
NARROW = 600
"""Width of a window, in CSS pixels, below which pages are drawn as for a phone."""


def chart_script() -> str | None:
    """Return the address of the script that draws charts, relative to a page, or None where this version has none."""
    import streamlit

    static = Path(streamlit.__file__).parent / "static"
    found = sorted(static.glob("static/js/PlotlyChart.*.js"))
    return f"./{found[0].relative_to(static).as_posix()}" if len(found) == 1 else None


class MoreHeaders:
    """Middleware that adds headers to answers; what it adds to which is said by :meth:`more`.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def more(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the headers for the answer to one request."""
        return []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer back with its headers."""
        more = self.more(scope) if scope["type"] == "http" else []

        async def answer(message: Message) -> None:
            if more and message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, answer)


class EarlyChart(MoreHeaders):
    """Middleware that adds a ``Link`` header to the pages with a chart."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        script = chart_script()
        self._links = [(b"link", f"<{script}>; rel=modulepreload; crossorigin".encode())] if script else []
        self._pages = {page.address for page in PAGES if page.id not in WITHOUT_CHART}

    def more(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Name the chart's script."""
        return self._links if scope["path"].rpartition("/")[2] in self._pages else []


class NarrowWindow(MoreHeaders):
    """Middleware that notes in a cookie whether the window is as narrow as a phone's."""

    def more(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Ask for the window's width, and note it where it was told."""
        told = dict(scope["headers"]).get(b"sec-ch-viewport-width", b"")
        more = [(b"accept-ch", b"Sec-CH-Viewport-Width")]
        if told.isdigit() and scope["path"].endswith("/host-config"):  # asked for right before a session begins
            age = b"86400" if int(told) < NARROW else b"0"
            more.append((b"set-cookie", NARROW_COOKIE.encode() + b"=1; Path=/; SameSite=Lax; Max-Age=" + age))
        return more


__all__ = ["EarlyChart", "NarrowWindow", "chart_script"]
