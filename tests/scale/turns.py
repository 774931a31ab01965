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
        self._tasks: set[asyncio.Task[None]] = set()
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
        # The loop itself holds on to no task.
        own = asyncio.current_task()
        assert own is not None
        self._tasks.add(own)
        own.add_done_callback(self._tasks.discard)
        try:
            there = await asyncio.open_connection("127.0.0.1", next(self._ports))
        except OSError:
            writer.close()
            return
        ways = [
            asyncio.create_task(_carry(reader, there[1])),
            asyncio.create_task(_carry(there[0], writer)),
        ]
        try:
            # Whoever hangs up first has had all that the other said.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for each in (writer, there[1]):
                each.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_PIECE_BYTES):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        # Either side is gone: so is the other.
        return
