"""The gateway is killed and started again while a client is at work."""

import os
import signal
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests/clients"))

from gateway import start

TOKEN = "t" * 40


class Gateway:
    def __init__(self, folder):
        self.folder, self.listen = str(folder), "127.0.0.1:0"
        self.start()

    def start(self):
        database = f"sqlite:{self.folder}/gancho.db"
        program = os.environ["GANCHO_TEST_PROGRAM"]
        self.process, self.url = start(program, self.folder, database, TOKEN, self.listen)
        self.listen = urlsplit(self.url).netloc

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def gateway(tmp_path):
    gateway = Gateway(tmp_path)
    yield gateway
    gateway.kill()


@pytest.fixture
def own(make, gateway):
    operator = make(url=gateway.url, token=TOKEN)
    operator.tenants.create("m2")
    return make(url=gateway.url, api_key=operator.tenants.create_api_key("m2").key)


def test_pages_go_on_where_they_were(gateway, own):
    published = own.events.publish_batch([{"type": "a.b", "data": n} for n in range(300)])
    seen = []
    for page in own.events.list(limit=50).pages():
        seen += [event.id for event in page.data]
        if len(seen) == 100:
            gateway.kill()
            again = threading.Timer(0.5, gateway.start)
            again.start()
    again.join()
    assert len(seen) == 300 and set(seen) == {result.id for result in published.results}


def test_what_is_published_meanwhile_is_published_once(gateway, own):
    ids = []

    def publish():
        for n in range(200):
            ids.append(own.events.publish("a.b", {"n": n}).id)
            if n == 50:
                half.set()

    half = threading.Event()
    publisher = threading.Thread(target=publish)
    publisher.start()
    assert half.wait(30)
    gateway.kill()
    gateway.start()
    publisher.join(60)
    stored = [event.id for event in own.events.list()]
    assert len(ids) == 200 and sorted(stored) == sorted(ids)


def test_a_tail_ends_with_an_error(gateway, own):
    from gancho import APIConnectionError

    own.webhooks.create("http://127.0.0.1:39999/", ["*"])
    stop = threading.Event()

    def publish():
        while not stop.wait(0.1):
            own.events.publish("a.b", 1)

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        with pytest.raises(APIConnectionError):
            for _ in own.deliveries.tail():
                if not stop.is_set():
                    stop.set()
                    publisher.join()
                    gateway.kill()
    finally:
        stop.set()
        publisher.join()
