"""Sends requests with httpx."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast

import httpx

from ._operation import Operation, Request
from ._pages import EventStreamParser, LineSplitter, Page, decoded_answer, decoded_line
from ._settings import STREAM_SILENCE, Attempts, Settings
from . import errors
from .errors import APIConnectionError, APITimeoutError, InvalidRequestError, error_of, is_json, not_json, too_large

T = TypeVar("T")

# Nothing of the request has left when one of these is raised.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class Transport:
    def __init__(self, settings: Settings, http: httpx.HTTPTransport | None = None) -> None:
        self.settings = settings
        # Without the `httpx.Client` around it, whose cookies, redirects and hooks take a third of the time of a call.
        self.http = http or httpx.HTTPTransport(
            verify=settings.tls(),
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30),
            proxy=settings.proxy(),
        )

    def send(self, operation: Operation[Any]) -> Any:
        """The JSON of the answer, after as many attempts as it takes."""
        request = Request(operation, self.settings.headers, self.settings.tenant)
        attempts = Attempts(self.settings, request)
        while True:
            timeout = attempts.timeout()
            try:
                status, headers, body = self._attempt(request, timeout)
            except httpx.TransportError as error:
                failure = connection_error(error, self.settings.url, timeout)
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise failure from error
                delay = attempts.after_failure(failure, not isinstance(error, _NOT_SENT))
            else:
                if 200 <= status < 300:
                    return answer_of(status, headers, body, self.settings.url)
                delay = attempts.after_status(error_of(status, headers, body, self.settings.url))
            time.sleep(delay)

    def _attempt(self, request: Request, timeout: float) -> tuple[int, httpx.Headers, bytes]:
        end = time.monotonic() + timeout
        built = self._build(request, dict.fromkeys(("connect", "read", "write", "pool"), timeout))
        response = self.http.handle_request(built)
        try:
            return response.status_code, response.headers, self._body(response, built, end)
        finally:
            response.close()

    def _body(self, response: httpx.Response, built: httpx.Request, end: float) -> bytes:
        chunks, size = [], 0
        # Nothing is encoded unless a proxy does it; looking for it at each answer takes time.
        is_encoded = "content-encoding" in response.headers
        try:
            for chunk in response.iter_bytes() if is_encoded else cast(httpx.SyncByteStream, response.stream):
                chunks.append(chunk)
                size += len(chunk)
                if size > errors.MAX_ANSWER:
                    raise too_large(response.status_code, response.headers, self.settings.url)
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("the answer was not complete in time", request=built)
        except httpx.DecodingError as error:
            raise httpx.RemoteProtocolError(str(error), request=built) from error
        return b"".join(chunks)

    def _build(self, request: Request, timeout: dict[str, float | None]) -> httpx.Request:
        return httpx.Request(
            request.method,
            self.settings.url + request.target,
            headers=request.headers,
            content=request.content,
            extensions={"timeout": timeout},
        )

    def stream(self, operation: Operation[T]) -> Iterator[T]:
        """What arrives, as it arrives. It is not begun again when the connection breaks."""
        request = Request(operation, self.settings.headers | {"Accept": "*/*"}, self.settings.tenant)
        url, timeout = self.settings.url, self.settings.timeout
        end = time.monotonic() + timeout
        timeouts: dict[str, float | None] = dict.fromkeys(("connect", "read", "write", "pool"), timeout)
        try:
            built = self._build(request, timeouts)
            response = self.http.handle_request(built)
            try:
                status, headers = response.status_code, response.headers
                if status != 200:
                    raise error_of(status, headers, self._body(response, built, end), url)
                parser = EventStreamParser(status, headers, url)
                # From here on, which is when httpx looks at it again.
                timeouts["read"] = timeout = STREAM_SILENCE
                splitter = LineSplitter(status, headers, url)
                for chunk in response.iter_bytes():
                    for line in splitter.feed(chunk):
                        if (complete := parser.feed(line)) is not None:
                            yield decoded_line(operation, complete)
                if (rest := splitter.rest()) and (complete := parser.feed(rest)) is not None:
                    yield decoded_line(operation, complete)
            finally:
                response.close()
        except httpx.TransportError as error:
            raise connection_error(error, url, timeout) from error
        except httpx.DecodingError as error:
            raise APIConnectionError(f"no connection to {url}: {error}") from error

    def with_settings(self, settings: Settings) -> Transport:
        return Transport(settings, self.http)

    def close(self) -> None:
        self.http.close()


def connection_error(error: httpx.TransportError, url: str, timeout: float) -> Exception:
    if isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
        raise InvalidRequestError(f"the request cannot be sent: {error}") from error
    if isinstance(error, httpx.TimeoutException):
        failure: Exception = APITimeoutError(f"{url} did not answer within {timeout:g} s")
    else:
        failure = APIConnectionError(f"no connection to {url}: {str(error) or type(error).__name__}")
    failure.__cause__ = error
    return failure


def answer_of(status: int, headers: Any, body: bytes, url: str) -> Any:
    """The JSON of an answer with 2xx."""
    if status == 204:
        return None
    if not is_json(headers):
        raise not_json(status, headers, url)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise not_json(status, headers, url) from None


class Pages(Generic[T]):
    """A list of any length: iterating over it fetches page after page."""

    def __init__(self, transport: Transport, operation: Operation[T]) -> None:
        self._transport = transport
        self._operation = operation

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first one, or the one at a cursor."""
        operation = self._operation.page(cursor)
        return Page.from_json(operation, self._transport.send(operation))

    def pages(self) -> Iterator[Page[T]]:
        cursor = None
        while True:
            page = self.page(cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data


class Resource:
    """A group of methods."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _call(self, operation: Operation[T]) -> T:
        return decoded_answer(operation, self._transport.send(operation))

    def _list(self, operation: Operation[T]) -> Pages[T]:
        return Pages(self._transport, operation)

    def _stream(self, operation: Operation[T]) -> Iterator[T]:
        return self._transport.stream(operation)
