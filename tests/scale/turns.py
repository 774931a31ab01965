"""One address for several servers: each connection goes to the next of them, as balancers do it."""

import asyncio
import threading
from collections.abc import Sequence
from itertools import cycle
from urllib.parse import urlsplit

_PIECE_BYTES = 1 << 16


class Turns:
    """Listens on this machine's own address, in a thread; `url` is where."""

    def __init__(self, urls: Sequence[str]) -> None:
        ports = [urlsplit(url).port for url in urls]
        self._ports = cycle(port for port in ports if port is not None)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        started = asyncio.start_server(self._take, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(started, self._loop).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """Break all connections off."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        # One that is cancelled may still wait for those that it waits for.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.wait(others)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", next(self._ports))
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_carry(reader, there[1]), _carry(there[0], writer))
        except asyncio.CancelledError:
            # The end of all: nobody waits for this one.
            pass
        finally:
            for each in (writer, there[1]):
                each.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_PIECE_BYTES):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (ConnectionError, RuntimeError):
        # Either side is gone: so is the other.
        writer.close()
