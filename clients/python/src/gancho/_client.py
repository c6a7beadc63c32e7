"""The clients: `Gancho` and `AsyncGancho`."""

from __future__ import annotations

import ssl
from dataclasses import replace
from typing import Any

from ._async import AsyncTransport
from ._model import UNSET, Unset
from ._settings import DEFAULT_DEADLINE, DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, Settings
from ._sync import Transport
from .generated.async_resources import AsyncResources
from .generated.resources import Resources


class Gancho(Resources):
    """A client of a gateway.

    It keeps connections open, and can be used by several threads. Close it, or use it in a `with`, when it is no longer
    needed.

    :param api_key: API key of a tenant. Default: `GANCHO_API_KEY`.
    :param url: URL of the gateway's API. Default: `GANCHO_URL`.
    :param token: The operator's token, instead of an API key.
    :param tenant: Slug or id of the tenant that the operator acts for. Default: `GANCHO_TENANT`.
    :param timeout: Seconds that one attempt may take.
    :param deadline: Seconds that a call may take, retries and the waits between them included.
    :param max_retries: Attempts after the first one.
    :param ssl_context: Default: the system's certificate authorities and the one of `GANCHO_CA_FILE`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        url: str | None = None,
        *,
        token: str | None = None,
        tenant: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        deadline: float = DEFAULT_DEADLINE,
        max_retries: int = DEFAULT_MAX_RETRIES,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        settings = Settings.make(
            url, api_key, token, tenant,
            timeout=timeout, deadline=deadline, max_retries=max_retries, ssl_context=ssl_context,
        )  # fmt: skip
        self._use(Transport(settings))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self._make_resources(transport)

    def with_options(
        self,
        *,
        tenant: str | None | Unset = UNSET,
        timeout: float | Unset = UNSET,
        deadline: float | Unset = UNSET,
        max_retries: int | Unset = UNSET,
    ) -> Gancho:
        """A client with other settings that uses the same connections."""
        client = Gancho.__new__(Gancho)
        settings = _changed(self._transport.settings, tenant, timeout, deadline, max_retries)
        client._use(self._transport.with_settings(settings))
        return client

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Gancho:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Gancho(url={self._transport.settings.url!r})"


class AsyncGancho(AsyncResources):
    """The client for `asyncio`; all methods are coroutines, lists are iterated with `async for`.

    It takes the same arguments as `Gancho`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        url: str | None = None,
        *,
        token: str | None = None,
        tenant: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        deadline: float = DEFAULT_DEADLINE,
        max_retries: int = DEFAULT_MAX_RETRIES,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        settings = Settings.make(
            url, api_key, token, tenant,
            timeout=timeout, deadline=deadline, max_retries=max_retries, ssl_context=ssl_context,
        )  # fmt: skip
        self._use(AsyncTransport(settings))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._make_resources(transport)

    def with_options(
        self,
        *,
        tenant: str | None | Unset = UNSET,
        timeout: float | Unset = UNSET,
        deadline: float | Unset = UNSET,
        max_retries: int | Unset = UNSET,
    ) -> AsyncGancho:
        """A client with other settings that uses the same connections."""
        client = AsyncGancho.__new__(AsyncGancho)
        settings = _changed(self._transport.settings, tenant, timeout, deadline, max_retries)
        client._use(self._transport.with_settings(settings))
        return client

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncGancho:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncGancho(url={self._transport.settings.url!r})"


def _changed(settings: Settings, tenant: Any, timeout: Any, deadline: Any, max_retries: Any) -> Settings:
    changes = {"tenant": tenant, "timeout": timeout, "deadline": deadline, "max_retries": max_retries}
    return replace(settings, **{name: value for name, value in changes.items() if value is not UNSET}).checked()
