"""A running gateway (`tests/clients/run` starts it), a tenant for each test, and servers that misbehave."""

import asyncio
import os
import threading
import uuid
from types import SimpleNamespace

import pytest
from gancho import AsyncGancho, Gancho
from servers import Proxy, Receiver


class Blocking:
    """An `AsyncGancho` that is used like a `Gancho`, so that one test is for both."""

    def __init__(self, target, loop):
        self._target, self._loop = target, loop

    def __getattr__(self, name):
        return self._wrap(getattr(self._target, name))

    def __iter__(self):
        iterator = aiter(self._target)
        while True:
            try:
                yield self._wrap(self._run(anext(iterator)))
            except StopAsyncIteration:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._run(self._target.close())

    def _run(self, awaitable):
        async def wait():
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()

    def _wrap(self, value):
        if asyncio.iscoroutine(value):
            return self._wrap(self._run(value))
        if callable(value):
            return lambda *args, **kwargs: self._wrap(self._call(value, args, kwargs))
        is_ours = type(value).__name__.startswith("Async") or hasattr(value, "__anext__")
        return Blocking(value, self._loop) if is_ours else value

    def _call(self, function, args, kwargs):
        async def call():
            return function(*args, **kwargs)

        return self._run(call())


@pytest.fixture(scope="session")
def loop():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.fixture(params=["sync", "async"])
def make(request, loop):
    """Makes clients of both kinds; they are closed at the end."""
    made = []

    def make(**options):
        if request.param == "sync":
            made.append(Gancho(**options))
        else:
            made.append(Blocking(AsyncGancho(**options), loop))
        return made[-1]

    yield make
    for client in made:
        client.__exit__()


@pytest.fixture
def server():
    """Where the gateway is, and the operator's token."""
    assert "GANCHO_TEST_URL" in os.environ, "run tests/clients/run, which starts a gateway"
    return SimpleNamespace(url=os.environ["GANCHO_TEST_URL"], token=os.environ["GANCHO_TEST_TOKEN"])


@pytest.fixture
def operator(make, server):
    return make(url=server.url, token=server.token)


@pytest.fixture
def tenant(operator):
    slug = "t-" + uuid.uuid4().hex[:12]
    operator.tenants.create(slug)
    key = operator.tenants.create_api_key(slug, scopes=["publish", "read", "manage"]).key
    return SimpleNamespace(slug=slug, key=key)


@pytest.fixture
def gancho(make, server, tenant):
    return make(api_key=tenant.key, url=server.url)


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def proxy(server):
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("GANCHO_URL", "GANCHO_API_KEY", "GANCHO_TENANT", "GANCHO_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
