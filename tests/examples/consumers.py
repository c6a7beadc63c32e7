"""Runs the consumers in `examples/` behind a real gateway and a network that loses requests and responses.

usage: consumers.py GANCHO CONSUMER.py CONSUMER.mjs

Each consumer gets events out of order and several times, is killed and started again in between, and must have the right
state in its database in the end.
"""

import http.server
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from gateway import Gateway, wait_for


class Consumer:
    """A consumer's process. `name` is its path at the network, too."""

    def __init__(self, name, command, folder):
        self.name, self.command, self.process, self.url = name, command, None, None
        self.database = os.path.join(folder, f"{name}.db")
        self.log_path = os.path.join(folder, f"{name}.log")

    def start(self, **variables):
        environment = {**os.environ, "PORT": "0", "DATABASE": self.database, **variables}
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=environment)
        self.url = wait_for(f"{self.name} listens", self.address)

    def address(self):
        with open(self.log_path) as log:
            text = log.read()
        assert self.process.poll() is None, f"{self.name} stopped:\n{text}"
        return text.partition("listening on ")[2].partition("\n")[0]

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait(10)

    def rows(self, query):
        database = sqlite3.connect(self.database, timeout=10)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()


class Network(http.server.BaseHTTPRequestHandler):
    """Stands between the gateway and the consumers. What it does to an attempt of an event is in the event's data:
    `"network": ["lose_request", "lose_response"]` for the first and the second attempt."""

    protocol_version = "HTTP/1.1"
    consumers, attempts, arrived = {}, {}, []
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        data = json.loads(body)["data"]
        name = self.path.strip("/")
        event = self.headers["webhook-id"] or self.headers["x-event-id"]
        with self.lock:
            attempt = self.attempts.get((name, event), 0)
            self.attempts[name, event] = attempt + 1
        faults = data.get("network", [])
        fault = faults[attempt] if attempt < len(faults) else None
        if fault == "lose_request":
            return self.answer(503)
        request = urllib.request.Request(self.consumers[name].url, body, dict(self.headers.items()))
        try:
            answer = urllib.request.urlopen(request, timeout=10)
        except urllib.error.HTTPError as error:
            answer = error
        outcome = json.load(answer)["outcome"]
        with self.lock:
            self.arrived.append((name, data.get("step"), outcome))
        self.answer(503 if fault == "lose_response" else answer.status)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def outcomes(name):
    with Network.lock:
        return [(step, outcome) for consumer, step, outcome in Network.arrived if consumer == name]


def endpoint(gateway, url, **draft):
    return gateway.call("/v1/webhooks", {"url": url, "retry": {"schedule": ["1s"] * 5}, **draft})


def all_delivered(gateway, webhook, count):
    def condition():
        deliveries = gateway.call(f"/v1/deliveries?webhook_id={webhook['id']}")["data"]
        return len(deliveries) == count and all(one["status"] == "delivered" for one in deliveries)

    wait_for(f"{count} deliveries to {webhook['url']}", condition)


def send_all_again(gateway, webhook, name, count):
    """Replays everything that was delivered: each must be taken for a duplicate."""
    before = len(outcomes(name))
    filter = {"webhook_id": webhook["id"], "status": "delivered"}
    gateway.call("/v1/replays", {"filter": filter, "rate": 100})
    wait_for(f"{count} replayed to {name}", lambda: len(outcomes(name)) >= before + count)
    again = [outcome for _, outcome in outcomes(name)[before:]]
    assert again == ["duplicate"] * count, f"{name} took replayed events for {again}"


def refuses_forged(consumer, headers):
    request = urllib.request.Request(consumer.url, b'{"type":"order.paid","data":{}}', headers)
    try:
        urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as error:
        assert error.code == 401, f"{consumer.name} answers {error.code} to a forged request"
        return
    raise AssertionError(f"{consumer.name} accepts a forged request")


def check_python(gateway, network, consumer):
    webhook = endpoint(gateway, f"{network}/python", events=["order.*"])
    consumer.start(WEBHOOK_SECRET=webhook["secret"])

    def publish(type, version, status, faults=()):
        data = {"id": "ord_1", "version": version, "status": status, "customer": "ana", "cents": 4200,
                "network": list(faults), "step": version}
        gateway.call("/v1/events", {"type": type, "data": data})

    publish("order.created", 1, "created", ["lose_request"])
    publish("order.paid", 2, "paid", ["lose_response", "lose_response"])
    publish("order.shipped", 3, "shipped")
    all_delivered(gateway, webhook, 3)
    first = [step for step, outcome in outcomes("python") if outcome == "processed"]
    assert first != sorted(first), f"nothing arrived out of order: {outcomes('python')}"
    assert outcomes("python").count((2, "duplicate")) == 2, outcomes("python")
    # What it knows must not be in its memory alone.
    consumer.kill()
    consumer.start(WEBHOOK_SECRET=webhook["secret"])
    send_all_again(gateway, webhook, "python", 3)
    refuses_forged(consumer, {"webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"})
    orders, balances = consumer.rows("SELECT * FROM orders"), consumer.rows("SELECT * FROM balances")
    assert orders == [("ord_1", 3, "shipped")], orders
    assert balances == [("ana", 4200)], balances


def check_node(gateway, network, consumer):
    def publish(outbox, type, status, step, faults=()):
        data = {"outboxId": outbox, "externalId": f"INV-{outbox}", "status": status, "network": list(faults), "step": step}
        gateway.call("/v1/events", {"type": type, "subject": outbox, "data": data})

    # The first one of this e-mail is of a time before the endpoint.
    publish("out_b", "email.retry_scheduled", "RETRY_SCHEDULED", "b1")
    webhook = endpoint(gateway, f"{network}/node", events=["email.*"], profile="email-gateway")
    settings = {"WEBHOOK_SECRET": webhook["secret"], "MAX_WAIT": "3"}
    consumer.start(**settings)
    publish("out_a", "email.retry_scheduled", "RETRY_SCHEDULED", "a1", ["lose_request"])
    publish("out_a", "email.retry_scheduled", "RETRY_SCHEDULED", "a2", ["lose_response"])
    publish("out_a", "email.sent", "SENT", "a3")
    publish("out_b", "email.sent", "SENT", "b2")
    all_delivered(gateway, webhook, 4)
    first = [step for step, outcome in outcomes("node") if outcome != "duplicate" and step.startswith("a")]
    assert first != sorted(first), f"nothing arrived out of order: {outcomes('node')}"
    assert ("a3", "waiting") in outcomes("node"), outcomes("node")
    assert ("a2", "duplicate") in outcomes("node"), outcomes("node")
    consumer.kill()
    consumer.start(**settings)
    send_all_again(gateway, webhook, "node", 4)
    refuses_forged(consumer, {"x-signature": "sha256=00", "x-event-id": "evt_1"})
    wait_for("the event after a missing one is applied", lambda: consumer.rows(
        "SELECT 1 FROM emails WHERE outbox_id = 'out_b' AND status = 'SENT'"))
    emails = consumer.rows("SELECT * FROM emails ORDER BY outbox_id")
    assert emails == [("out_a", "INV-out_a", "SENT", 3), ("out_b", "INV-out_b", "SENT", 2)], emails
    history = consumer.rows("SELECT outbox_id, number, line FROM history ORDER BY outbox_id, rowid")
    assert history == [
        ("out_a", 1, "email.retry_scheduled"), ("out_a", 2, "email.retry_scheduled"), ("out_a", 3, "email.sent"),
        ("out_b", 1, "(missing)"), ("out_b", 2, "email.sent"),
    ], history


def main():
    gancho, python_consumer, node_consumer = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Network)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    network = f"http://127.0.0.1:{server.server_port}"
    failed = False
    with tempfile.TemporaryDirectory() as folder, Gateway(gancho) as gateway:
        gateway.call("/v1/tenants", {"slug": "acme"}, tenant=None)
        for name, command, check in (
            ("python", [sys.executable, python_consumer], check_python),
            ("node", ["node", node_consumer], check_node),
        ):
            consumer = Network.consumers[name] = Consumer(name, command, folder)
            try:
                check(gateway, network, consumer)
                print(f"examples/{name}: {len(outcomes(name))} requests, out of order and repeated; the state is right")
            except AssertionError as error:
                failed = True
                print(f"examples/{name}: {error}", file=sys.stderr)
                print(open(consumer.log_path).read() if os.path.exists(consumer.log_path) else "", file=sys.stderr)
            finally:
                consumer.kill()
    sys.exit(failed)


main()
