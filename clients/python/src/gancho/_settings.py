"""What a client is made with."""

from __future__ import annotations

import os
import random
import ssl
import time
import urllib.request
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, urlsplit

from . import __version__
from ._operation import Request
from .errors import APIError, APITimeoutError, ConfigurationError

DEFAULT_TIMEOUT = 20.0
DEFAULT_DEADLINE = 60.0
DEFAULT_MAX_RETRIES = 5
# Seconds. The gateway sends something at least every 15 seconds; a stream without it is a dead connection.
STREAM_SILENCE = 45.0

# Statuses that leave it open whether something was done.
_UNCERTAIN = {408, 502, 503, 504}


@dataclass
class Settings:
    url: str
    key: str = field(repr=False)
    tenant: str | None
    timeout: float
    deadline: float
    max_retries: int
    ssl_context: ssl.SSLContext | None

    @staticmethod
    def make(
        url: str | None,
        api_key: str | None,
        token: str | None,
        tenant: str | None,
        **others: Any,
    ) -> Settings:
        if api_key and token:
            raise ConfigurationError("give an api_key or the operator's token, not both")
        url = (url or os.environ.get("GANCHO_URL") or "").strip()
        key = (api_key or token or os.environ.get("GANCHO_API_KEY") or "").strip()
        if not url:
            raise ConfigurationError("no URL: pass url=… or set GANCHO_URL, e.g. to http://127.0.0.1:3000")
        parts = _parts(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"{url!r} is not a URL: it must start with http:// or https://")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ConfigurationError("the URL must be the gateway's address alone, without ?, # and a password")
        if not key:
            raise ConfigurationError("no API key: pass api_key=… (or token=… as the operator), or set GANCHO_API_KEY")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigurationError("the API key has characters that no key has: check that it was copied alone")
        tenant = tenant or os.environ.get("GANCHO_TENANT") or None
        url = url.rstrip("/").removesuffix("/v1")
        return Settings(url, key, tenant, **others).checked()

    def checked(self) -> Settings:
        tenant = self.tenant
        if tenant is not None and not (tenant.isascii() and tenant.isprintable() and tenant and " " not in tenant):
            raise ConfigurationError(f"{tenant!r} is not the slug or id of a tenant")
        limits = (self.timeout, self.deadline, self.max_retries)
        if not all(isinstance(limit, (int, float)) for limit in limits):
            raise ConfigurationError("timeout, deadline and max_retries must be numbers")
        if not (self.timeout > 0 and self.deadline > 0 and self.max_retries >= 0):
            raise ConfigurationError("timeout and deadline must be above 0, and max_retries must not be negative")
        return self

    @cached_property
    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.key}",
            "User-Agent": f"gancho-python/{__version__}",
            "Accept": "application/json",
        }

    def proxy(self) -> str | None:
        """The proxy that the environment names for the URL."""
        parts = urlsplit(self.url)
        if urllib.request.proxy_bypass(parts.hostname or ""):
            return None
        proxies = urllib.request.getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if not proxy:
            return None
        # As for curl, a proxy without a scheme is one of HTTP.
        proxy = proxy if "://" in proxy else "http://" + proxy
        if urlsplit(proxy).scheme not in ("http", "https"):
            raise ConfigurationError(
                f"the environment names the proxy {proxy!r}, and only proxies of HTTP are supported: "
                f"set NO_PROXY={parts.hostname} to connect without one"
            )
        return proxy

    def tls(self) -> ssl.SSLContext:
        if self.ssl_context is None:
            self.ssl_context = ssl.create_default_context()
            if extra := os.environ.get("GANCHO_CA_FILE"):
                self.ssl_context.load_verify_locations(extra)
        return self.ssl_context


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # It is checked when it is read.
    except ValueError as error:
        raise ConfigurationError(f"{url!r} is not a URL: {error}") from None
    if not url.isprintable() or any(character.isspace() for character in url):
        raise ConfigurationError(f"{url!r} is not a URL: it has spaces or control characters")
    return parts


class Attempts:
    """Counts the attempts of a call and says how long to wait before the next one."""

    __slots__ = ("settings", "request", "end", "failed")

    def __init__(self, settings: Settings, request: Request) -> None:
        self.settings = settings
        self.request = request
        self.end = time.monotonic() + settings.deadline
        self.failed = 0

    def timeout(self) -> float:
        """How long the next attempt may take."""
        remaining = self.end - time.monotonic()
        if remaining <= 0:
            raise APITimeoutError(f"no answer within {self.settings.deadline:g} s ({self.failed} attempts)")
        return min(self.settings.timeout, remaining)

    def after_status(self, error: APIError) -> float:
        """The delay before the next attempt; raises the error if there is none."""
        # A 429 says that nothing was done.
        if error.status != 429 and not (error.status in _UNCERTAIN and self.request.is_safe_to_repeat):
            raise error
        return self._delay(error, error.retry_after)

    def after_failure(self, error: Exception, was_sent: bool) -> float:
        """The same for an attempt that got no answer."""
        if was_sent and not self.request.is_safe_to_repeat:
            raise error
        return self._delay(error, None)

    def _delay(self, error: Exception, least: float | None) -> float:
        self.failed += 1
        delay = min(8.0, 0.1 * 2.0**self.failed) * random.uniform(0.5, 1.0)
        delay = max(delay, least or 0.0)
        if self.failed > self.settings.max_retries or time.monotonic() + delay >= self.end:
            raise error
        return delay
