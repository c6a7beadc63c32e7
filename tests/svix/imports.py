"""Imports endpoints from a Svix API (another gateway's), and from doubles of Convoy and Outpost, and verifies what is delivered
afterwards with the OLD secrets.

usage: imports.py GANCHO
"""

import hashlib
import hmac
import http.server
import json
import subprocess
import sys
import threading

from svix.api import Svix, SvixOptions
from svix.models import ApplicationIn, EndpointIn, EventTypeIn, MessageIn
from svix.webhooks import Webhook

from stage import TOKEN, Gateway, Receiver


class Double(http.server.ThreadingHTTPServer):
    """Answers GET requests as recorded; `answers` is by path, without the query."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []
        super().__init__(("127.0.0.1", 0), Recorded)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Recorded(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["authorization"]))
        path, _, query = self.path.partition("?")
        body = self.server.answers.get(path)
        if isinstance(body, list) and body and "page" in body[0]:
            body = body[1 if "SECOND" in query else 0]["page"]
        text = json.dumps({"error": "not found"} if body is None else body).encode()
        self.send_response(404 if body is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def run(gateway, *arguments, token="the-token-of-the-service", code=0):
    environment = {**gateway.environment, "GANCHO_IMPORT_TOKEN": token, "HOME": gateway.folder}
    command = [gateway.gancho, "import", *arguments, "--server", gateway.url, "--json"]
    environment["GANCHO_API_KEY"] = TOKEN
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def counts(outcome):
    return outcome["created"], outcome["existing"], outcome["failed"]


def from_svix(gancho, gateway, receiver):
    source = Gateway(gancho)
    try:
        old = Svix(TOKEN, SvixOptions(server_url=source.url))
        app = old.application.create(ApplicationIn(name="Acme", uid="Acme.Corp", metadata={"a": "b"}))
        nameless = old.application.create(ApplicationIn(name="No uid"))
        old.event_type.create(EventTypeIn(name="order.placed", description="Placed", schemas={"1": {"type": "object"}}))
        main = old.endpoint.create(app.id, EndpointIn(url=receiver.url("/svix"), uid="main", event_types=["order.placed"], throttle_rate=9))
        plain = old.endpoint.create(nameless.id, EndpointIn(url=receiver.url("/plain")))
        secret = old.endpoint.get_secret(app.id, "main").key
        dry = run(gateway, "svix", "--from-url", source.url, "--dry-run", token=TOKEN)
        assert counts(dry) == (5, 0, 0), dry
        new = Svix(TOKEN, SvixOptions(server_url=gateway.url))
        assert new.application.list().data == [], "a dry run created something"
        assert counts(run(gateway, "svix", "--from-url", source.url, token=TOKEN)) == (5, 0, 0)
        assert counts(run(gateway, "svix", "--from-url", source.url, token=TOKEN)) == (0, 5, 0)
    finally:
        source.stop()
    assert new.application.get("Acme.Corp").metadata == {"a": "b"}
    assert new.event_type.get("order.placed").schemas == {"1": {"type": "object"}}
    moved = new.endpoint.get("Acme.Corp", "main")
    assert (moved.url, moved.event_types, moved.throttle_rate) == (main.url, ["order.placed"], 9)
    assert new.endpoint.get(nameless.id, plain.id).uid == plain.id, "an old id still names the endpoint"
    new.message.create("Acme.Corp", MessageIn(event_type="order.placed", payload={"n": 1}))
    headers, body = receiver.take("/svix")
    Webhook(secret).verify(body, headers)


def from_convoy(gateway, receiver):
    secret, base = "9gBtjd1x4vRkLk3Yg3GfE2Hny", "/api/v1/projects/prj-1"

    def page(content, more=False):
        pagination = {"per_page": 100, "has_next_page": more, "has_prev_page": False, "prev_page_cursor": "", "next_page_cursor": "SECOND"}
        return {"page": {"status": True, "message": "fetched", "data": {"content": content, "pagination": pagination}}}

    def endpoint(uid, **more):
        return {
            "uid": uid, "project_id": "prj-1", "owner_id": "globex", "url": receiver.url("/convoy"), "name": "Globex", "status": "active",
            "secrets": [{"uid": "s0", "value": "an old one that expires", "expires_at": "2026-01-01T00:00:00Z"}, {"uid": "s1", "value": secret, "expires_at": None}],
            "advanced_signatures": False, "http_timeout": 10, "rate_limit": 100, "rate_limit_duration": 60,
            "authentication": {"type": "api_key", "api_key": {"header_name": "X-Key", "header_value": "k"}}, **more,
        }

    subscription = {"uid": "sub", "endpoint_metadata": {"uid": "ep-1"}, "filter_config": {"event_types": ["bill.sent"]}}
    convoy = Double({
        base + "/endpoints": [page([endpoint("ep-1")], more=True), page([endpoint("ep-2", advanced_signatures=True)])],
        base + "/subscriptions": [page([subscription]), page([])],
    })
    arguments = ("convoy", "--from-url", convoy.url, "--project", "prj-1")
    outcome = run(gateway, *arguments)
    assert counts(outcome) == (3, 0, 0), outcome
    assert [one for one in outcome["records"] if one["state"] == "warning" and "advanced signatures" in one["what"]], outcome
    assert counts(run(gateway, *arguments)) == (0, 3, 0)
    assert all(key == "Bearer the-token-of-the-service" for _, key in convoy.asked)
    assert gateway.call("/api/v1/app/globex/endpoint/ep-2")[1]["disabled"]
    status, _ = gateway.call("/v1/events", b'{"type": "bill.sent", "data": {"n": 1.0}}', headers={"x-tenant": "globex"})
    assert status == 202
    headers, body = receiver.take("/convoy")
    assert body == b'{"n": 1.0}' and headers["x-key"] == "k"
    assert headers["x-convoy-signature"] == hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def from_outpost(gateway, receiver):
    secret = "whsec_0123456789abcdef0123456789abcdef"
    webhook = {
        "id": "des_1", "type": "webhook", "topics": ["order.created"], "disabled_at": None,
        "config": {"url": receiver.url("/outpost"), "custom_headers": '{"x-team":"b"}'}, "credentials": {"secret": secret},
    }
    outpost = Double({
        "/api/v1/tenants": {"models": [{"id": "tenant-1", "destinations_count": 2}], "pagination": {"next": None, "prev": None}, "count": 1},
        "/api/v1/tenants/tenant-1/destinations": [webhook, {"id": "des_2", "type": "aws_sqs", "topics": ["*"], "config": {}, "credentials": {}}],
    })
    outcome = run(gateway, "outpost", "--from-url", outpost.url)
    assert counts(outcome) == (2, 0, 0) and "aws_sqs" in json.dumps(outcome), outcome
    status, _ = gateway.call("/v1/events", {"type": "order.created", "data": {"n": 1}}, headers={"x-tenant": "tenant-1"})
    assert status == 202
    headers, body = receiver.take("/outpost")
    assert headers["x-outpost-signature"] == "v0=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert headers["x-team"] == "b" and headers["x-outpost-topic"] == "order.created"


def failures(gateway):
    file = gateway.folder + "/bad.jsonl"
    records = [
        {"kind": "application", "uid": "fails", "name": "Fails"},
        {"kind": "endpoint", "application": "fails", "uid": "e1", "url": "not a url", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
        {"kind": "endpoint", "application": "nobody", "uid": "e2", "url": "https://example.com/"},
    ]
    write(file, *records)
    outcome = run(gateway, "svix", "--file", file, code=1)
    assert counts(outcome) == (1, 0, 2), outcome


def write(file, *records):
    with open(file, "w") as lines:
        lines.write("\n".join(json.dumps(record) for record in records))


def odd_files(gateway, receiver):
    file = gateway.folder + "/odd.jsonl"
    app = {"kind": "application", "uid": "odd", "name": "Odd"}

    def endpoint(uid, **more):
        return {"kind": "endpoint", "application": "odd", "uid": uid, "url": receiver.url("/" + uid), **more}

    # Svix writes its secrets without the prefix, too.
    secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    write(file, app, endpoint("bare", secret=secret), endpoint("plain", secret="a secret that is plain text"))
    outcome = run(gateway, "svix", "--file", file, code=1)
    assert counts(outcome) == (2, 0, 1) and "not one of Svix" in json.dumps(outcome), outcome
    Svix(TOKEN, SvixOptions(server_url=gateway.url)).message.create("odd", MessageIn(event_type="a.b", payload={"n": 1}))
    headers, body = receiver.take("/bare")
    Webhook(secret).verify(body, headers)

    write(file, endpoint("bare", secret=secret), {**endpoint("bare"), "url": "https://example.com/other"})
    outcome = run(gateway, "svix", "--file", file)
    assert counts(outcome) == (0, 2, 0), outcome
    assert ["another URL" in one["what"] for one in outcome["records"]] == [False, True], outcome

    # Nothing is written of a file that names no uid, and reasons are reported.
    for nameless in (endpoint(""), {**app, "uid": ""}):
        write(file, {**app, "uid": "odd-2"}, nameless)
        error = failing(gateway, "svix", "--file", file)
        assert "line 2" in error["message"] and "no `uid`" in error["message"], error
    assert gateway.call("/api/v1/app/odd-2")[0] == 404
    write(file, {**app, "uid": "odd-3", "name": "n" * 129})
    outcome = run(gateway, "svix", "--file", file, code=1)
    assert "invalid name" in outcome["records"][0]["what"] or "`name`" in outcome["records"][0]["what"], outcome
    assert "--file" in failing(gateway, "svix")["hint"]
    error = failing(gateway, "svix", "--file", file, key="gk_wrong")
    assert error["exit_code"] == 5, error


def failing(gateway, *arguments, key=TOKEN):
    environment = {**gateway.environment, "GANCHO_API_KEY": key, "HOME": gateway.folder}
    command = [gateway.gancho, "import", *arguments, "--server", gateway.url, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0, done.stdout
    return json.loads(done.stderr)["error"]


def main():
    receiver, gateway = Receiver(), Gateway(sys.argv[1])
    try:
        from_svix(sys.argv[1], gateway, receiver)
        from_convoy(gateway, receiver)
        from_outpost(gateway, receiver)
        failures(gateway)
        odd_files(gateway, receiver)
    finally:
        gateway.stop()
    print("imports from Svix, Convoy and Outpost keep their secrets")


main()
