"""Sends requests with aiohttp, which takes a quarter of the CPU time that httpx takes for a small request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

import aiohttp
from yarl import URL

from ._operation import Operation, Request
from ._pages import EventStreamParser, LineSplitter, Page, decoded_answer, decoded_line
from ._settings import STREAM_SILENCE, Attempts, Settings
from ._sync import answer_of
from . import errors
from .errors import APIConnectionError, APITimeoutError, error_of, too_large

T = TypeVar("T")

# Nothing of the request has left when one of these is raised.
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_FAILURES = (aiohttp.ClientError, asyncio.TimeoutError, OSError)


class Connections:
    """The connections of a client and of what was made of it by `with_options`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.proxy = settings.proxy()
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def session(self) -> aiohttp.ClientSession:
        # It belongs to the event loop that runs when it is made; a program may have one loop after another.
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            if self._session is not None:
                self._session.detach()
            self._loop = loop
            connector = aiohttp.TCPConnector(limit=100, ssl=self.settings.tls(), keepalive_timeout=30)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


class AsyncTransport:
    def __init__(self, settings: Settings, connections: Connections | None = None) -> None:
        self.settings = settings
        self.connections = connections or Connections(settings)

    async def send(self, operation: Operation[Any]) -> Any:
        """The JSON of the answer, after as many attempts as it takes."""
        request = Request(operation, self.settings.headers, self.settings.tenant)
        attempts = Attempts(self.settings, request)
        while True:
            timeout = attempts.timeout()
            try:
                async with self._open(request, aiohttp.ClientTimeout(total=timeout)) as response:
                    status, headers, body = response.status, response.headers, await self._body(response)
            except _FAILURES as error:
                failure = connection_error(error, self.settings.url, timeout)
                if isinstance(error, aiohttp.ClientConnectorCertificateError):
                    raise failure from error
                delay = attempts.after_failure(failure, not isinstance(error, _NOT_SENT))
            else:
                if 200 <= status < 300:
                    return answer_of(status, headers, body, self.settings.url)
                delay = attempts.after_status(error_of(status, headers, body, self.settings.url))
            await asyncio.sleep(delay)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        length, headers = response.content_length, response.headers
        if length is not None and length <= errors.MAX_ANSWER and "content-encoding" not in headers:
            return await response.read()
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > errors.MAX_ANSWER:
                raise too_large(response.status, headers, self.settings.url)
        return b"".join(chunks)

    def _open(self, request: Request, timeout: aiohttp.ClientTimeout) -> Any:
        return self.connections.session().request(
            request.method,
            URL(self.settings.url + request.target, encoded=True),
            data=request.content,
            headers=request.headers,
            timeout=timeout,
            allow_redirects=False,
            proxy=self.connections.proxy,
        )

    async def stream(self, operation: Operation[T]) -> AsyncIterator[T]:
        """What arrives, as it arrives. It is not begun again when the connection breaks."""
        request = Request(operation, self.settings.headers | {"Accept": "*/*"}, self.settings.tenant)
        url, timeout = self.settings.url, self.settings.timeout
        try:
            opening = self._open(request, aiohttp.ClientTimeout(total=None, sock_read=STREAM_SILENCE))
            response = await asyncio.wait_for(opening, timeout)
            async with response:
                status, headers = response.status, response.headers
                if status != 200:
                    raise error_of(status, headers, await asyncio.wait_for(self._body(response), timeout), url)
                parser = EventStreamParser(status, headers, url)
                timeout = STREAM_SILENCE
                splitter = LineSplitter(status, headers, url)
                async for chunk in response.content.iter_any():
                    for line in splitter.feed(chunk):
                        if (complete := parser.feed(line)) is not None:
                            yield decoded_line(operation, complete)
                if (rest := splitter.rest()) and (complete := parser.feed(rest)) is not None:
                    yield decoded_line(operation, complete)
        except _FAILURES as error:
            raise connection_error(error, url, timeout) from error

    def with_settings(self, settings: Settings) -> AsyncTransport:
        return AsyncTransport(settings, self.connections)

    async def close(self) -> None:
        await self.connections.close()


def connection_error(error: BaseException, url: str, timeout: float) -> Exception:
    if isinstance(error, asyncio.TimeoutError):
        failure: Exception = APITimeoutError(f"{url} did not answer within {timeout:g} s")
    else:
        failure = APIConnectionError(f"no connection to {url}: {str(error) or type(error).__name__}")
    failure.__cause__ = error
    return failure


class AsyncPages(Generic[T]):
    """A list of any length: iterating over it fetches page after page."""

    def __init__(self, transport: AsyncTransport, operation: Operation[T]) -> None:
        self._transport = transport
        self._operation = operation

    async def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first one, or the one at a cursor."""
        operation = self._operation.page(cursor)
        return Page.from_json(operation, await self._transport.send(operation))

    async def pages(self) -> AsyncIterator[Page[T]]:
        cursor = None
        while True:
            page = await self.page(cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item


class AsyncResource:
    """A group of methods."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _call(self, operation: Operation[T]) -> T:
        return decoded_answer(operation, await self._transport.send(operation))

    def _list(self, operation: Operation[T]) -> AsyncPages[T]:
        return AsyncPages(self._transport, operation)

    def _stream(self, operation: Operation[T]) -> AsyncIterator[T]:
        return self._transport.stream(operation)
