"""A tour of the official `svix` client for Python: every documented group of calls, against a running gateway. The client
may be of version 1 or 2.

usage: tour.py GANCHO [DATABASE_URL]
"""

import datetime
import json
import pathlib
import re
import sys
import uuid

import svix
import svix.api
from svix.api import (
    ApplicationCreateOptions, ApplicationListOptions, EndpointGetStatsOptions, EndpointListOptions, EventTypeDeleteOptions, EventTypeListOptions,
    MessageAttemptListByEndpointOptions, MessageAttemptListByMsgOptions, MessageCreateOptions, MessageGetOptions, MessageListOptions, Svix, SvixOptions,
)
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import *  # noqa: F403
from svix.webhooks import Webhook, WebhookVerificationError

# What version 2 has renamed.
IS_FIRST = svix.__version__.startswith("1.")
EVENT_TYPES = "filter_types" if IS_FIRST else "event_types"
if IS_FIRST:
    EndpointUpsertIn, EventTypeUpsertIn = EndpointUpdate, EventTypeUpdate  # noqa: F405

from stage import TOKEN, Gateway, Receiver, drop_database, eventually, new_database


def refused(kind, status, run):
    try:
        run()
    except kind as error:
        assert error.status_code == status, f"{error.status_code} {error}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def upsert(group, *arguments):
    return (group.update if IS_FIRST else group.upsert)(*arguments)


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def applications(client):
    app = client.application.create(ApplicationIn(name="Acme", uid="acme", metadata={"size": "large"}))
    assert (app.uid, app.name, app.metadata) == ("acme", "Acme", {"size": "large"})
    assert client.application.get("acme").id == app.id == client.application.get(app.id).id
    same = client.application.get_or_create(ApplicationIn(name="Other", uid="acme"))
    assert same.id == app.id and same.name == "Acme"
    assert refused(HttpError, 409, lambda: client.application.create(ApplicationIn(name="B", uid="acme"))).code == "conflict"
    odd = client.application.create(ApplicationIn(name="Odd", uid="Org_2Nx.Y"))
    assert odd.uid == "Org_2Nx.Y" and client.application.get("Org_2Nx.Y").id == odd.id
    assert client.application.create(ApplicationIn(name="Without")).uid is None
    put = upsert(client.application, "put-me", ApplicationIn(name="Put"))
    assert put.uid == "put-me"
    again = upsert(client.application, "put-me", ApplicationIn(name="Put again", metadata={"a": "b"}))
    assert again.id == put.id and again.name == "Put again" and again.metadata == {"a": "b"}
    patched = client.application.patch("put-me", ApplicationPatch(name="Patched"))
    assert patched.name == "Patched" and patched.metadata == {"a": "b"}
    refused(HTTPValidationError, 422, lambda: client.application.patch("put-me", ApplicationPatch(uid="another")))
    fault = refused(HTTPValidationError, 422, lambda: client.application.create(ApplicationIn(name="x", throttle_rate=5)))
    assert fault.detail[0].loc == ["body", "throttleRate"], fault
    refused(HttpError, 404, lambda: client.application.get("nobody"))
    seen, iterator = [], None
    while True:
        page = client.application.list(ApplicationListOptions(limit=2, iterator=iterator))
        assert len(page.data) <= 2
        seen += [one.id for one in page.data]
        iterator = page.iterator
        if page.done:
            break
    assert len(seen) == len(set(seen)) >= 4 and {app.id, odd.id, put.id} <= set(seen)
    return app


def event_types(client):
    schemas = {"1": {"type": "object", "properties": {"n": {"type": "integer"}}, "examples": [{"n": 7}]}}
    made = client.event_type.create(EventTypeIn(name="invoice.paid", description="Paid", schemas=schemas, group_name="billing"))
    assert made.schemas == schemas and made.group_name == "billing" and not made.deprecated
    got = client.event_type.get("invoice.paid")
    assert got.schemas == schemas and got.description == "Paid" and got.created_at.year >= 2024
    refused(HttpError, 409, lambda: client.event_type.create(EventTypeIn(name="invoice.paid", description="x")))
    refused(HTTPValidationError, 422, lambda: client.event_type.create(EventTypeIn(name="no good", description="x")))
    updated = upsert(client.event_type, "invoice.paid", EventTypeUpsertIn(description="Was paid", schemas=schemas, deprecated=True))
    assert updated.deprecated and updated.created_at == got.created_at
    assert client.event_type.patch("invoice.paid", EventTypePatch(description="Now paid")).deprecated
    upsert(client.event_type, "invoice.late", EventTypeUpsertIn(description="Late"))
    assert [one.name for one in client.event_type.list(EventTypeListOptions(limit=1)).data] == ["invoice.late"]
    client.event_type.delete("invoice.late")
    assert "invoice.late" not in [one.name for one in client.event_type.list().data]
    archived = client.event_type.list(EventTypeListOptions(include_archived=True, with_content=True)).data
    assert {one.name: one.archived for one in archived} == {"invoice.late": True, "invoice.paid": False}
    client.event_type.delete("invoice.late", EventTypeDeleteOptions(expunge=True))
    refused(HttpError, 404, lambda: client.event_type.get("invoice.late"))


def endpoints(client, receiver):
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    draft = EndpointIn(
        url=receiver.url(), description="Main", uid="main", throttle_rate=100, metadata={"team": "a"}, secret=secret, headers={"X-Custom": "one"},
        **{EVENT_TYPES: ["invoice.paid", "invoice.late"]},
    )
    made = client.endpoint.create("acme", draft)
    assert (made.uid, made.description, getattr(made, EVENT_TYPES), made.throttle_rate) == ("main", "Main", ["invoice.paid", "invoice.late"], 100)
    assert made.metadata == {"team": "a"} and made.disabled is False
    assert client.endpoint.get("acme", "main").id == made.id == client.endpoint.get("acme", made.id).id
    assert client.endpoint.get_secret("acme", "main").key == secret
    refused(HttpError, 409, lambda: client.endpoint.create("acme", draft))
    fault = refused(HTTPValidationError, 422, lambda: client.endpoint.create("acme", EndpointIn(url="no url")))
    assert fault.detail[0].loc == ["body", "url"], fault
    refused(HTTPValidationError, 422, lambda: client.endpoint.create("acme", EndpointIn(url=receiver.url(), channels=["c"])))
    refused(HttpError, 404, lambda: client.endpoint.get("acme", "nobody"))

    other = upsert(client.endpoint, "acme", "second", EndpointUpsertIn(url=receiver.url("/second"), disabled=True))
    assert other.uid == "second" and other.disabled and getattr(other, EVENT_TYPES) is None
    changed = upsert(client.endpoint, "acme", "second", EndpointUpsertIn(url=receiver.url("/second"), description="B", disabled=True, uid="second"))
    assert changed.id == other.id and changed.description == "B"
    patched = client.endpoint.patch("acme", "second", EndpointPatch(description="C", **{EVENT_TYPES: ["invoice.paid"]}))
    assert patched.description == "C" and getattr(patched, EVENT_TYPES) == ["invoice.paid"] and patched.uid == "second"
    page = client.endpoint.list("acme", EndpointListOptions(limit=1))
    assert len(page.data) == 1 and not page.done
    assert client.endpoint.list("acme", EndpointListOptions(limit=1, iterator=page.iterator)).done
    broken = page.iterator[:-2] + ("AA" if not page.iterator.endswith("AA") else "BB")
    refused(HTTPValidationError, 422, lambda: client.endpoint.list("acme", EndpointListOptions(iterator=broken)))
    refused(HTTPValidationError, 422, lambda: client.endpoint.list("acme", EndpointListOptions(limit=251)))

    set_headers = client.endpoint.update_headers if IS_FIRST else client.endpoint.set_headers
    set_headers("acme", "main", EndpointHeadersIn(headers={"X-A": "1", "X-B": "2"}))
    client.endpoint.patch_headers("acme", "main", EndpointHeadersPatchIn(headers={"X-C": "3"}, delete_headers=["X-B"]))
    headers = client.endpoint.get_headers("acme", "main")
    assert headers.headers == {} and sorted(headers.sensitive) == ["X-A", "X-C"]
    client.endpoint.delete("acme", "second")
    refused(HttpError, 404, lambda: client.endpoint.get("acme", "second"))
    return made, secret


def verified(secret, headers, body):
    Webhook(secret).verify(body, headers)
    return json.loads(body)


def messages(client, receiver, endpoint, secret):
    key = str(uuid.uuid4())
    draft = MessageIn(event_type="invoice.paid", event_id="paid-1", payload={"n": 1, "text": "ü"})
    sent = client.message.create("acme", draft, MessageCreateOptions(with_content=True))
    assert sent.event_id == "paid-1" and sent.payload == {"n": 1, "text": "ü"}
    headers, body = receiver.take()
    assert verified(secret, headers, body) == {"n": 1, "text": "ü"}
    assert headers["svix-id"] == sent.id and (headers["x-a"], headers["x-c"]) == ("1", "3") and "x-b" not in headers
    try:
        verified("whsec_" + "A" * 32, headers, body)
        raise AssertionError("another secret verified")
    except WebhookVerificationError:
        pass
    refused(HttpError, 409, lambda: client.message.create("acme", draft))
    repeat = MessageIn(event_type="invoice.paid", payload={"n": 2})
    first = client.message.create("acme", repeat, MessageCreateOptions(idempotency_key=key))
    second = client.message.create("acme", repeat, MessageCreateOptions(idempotency_key=key))
    assert first.id == second.id and receiver.take()[0]["svix-id"] == first.id
    assert receiver.arrived.empty(), "a repeated message was sent again"

    assert client.message.get("acme", "paid-1", MessageGetOptions(with_content=True)).payload == {"n": 1, "text": "ü"}
    assert client.message.get("acme", first.id).id == first.id
    refused(HttpError, 404, lambda: client.message.get("acme", "evt_01HQXYZ123ABCDEFGH00000000"))
    listed = client.message.list("acme", MessageListOptions(limit=1, with_content=True))
    assert [one.id for one in listed.data] == [first.id] and listed.data[0].payload == {"n": 2}
    assert client.message.list("acme", MessageListOptions(limit=1, iterator=listed.iterator)).data[0].id == sent.id
    assert client.message.list("acme", MessageListOptions(after=now())).data == []
    assert len(client.message.list("acme", MessageListOptions(event_types=["invoice.paid", "x.y"])).data) == 2
    for unsupported in ({"channels": ["c"]}, {"tags": ["t"]}, {"payload_retention_period": 5}):
        refused(HTTPValidationError, 422, lambda: client.message.create("acme", MessageIn(event_type="a.b", payload={}, **unsupported)))
    made = client.message.create("new-app", MessageIn(event_type="a.b", payload={}, application=ApplicationIn(name="New", uid="new-app")))
    assert client.message.get("new-app", made.id).event_type == "a.b"
    assert client.message.precheck("acme", MessagePrecheckIn(event_type="invoice.paid")).active
    assert not client.message.precheck("acme", MessagePrecheckIn(event_type="other.type")).active
    example = client.endpoint.send_example("acme", endpoint.id, EventExampleIn(event_type="invoice.paid"))
    headers, body = receiver.take()
    assert headers["svix-id"] == example.id and verified(secret, headers, body) == {"n": 7}
    keys_and_ids(client)
    return sent


def keys_and_ids(client):
    """An idempotency key holds whether or not the message has an `eventId`, too."""

    def create(key, event_id=None):
        draft = MessageIn(event_type="other.type", payload={"n": 3}, event_id=event_id)
        return client.message.create("acme", draft, MessageCreateOptions(idempotency_key=key)).id

    first = create("both-key", "both-1")
    assert create("both-key", "both-1") == first
    refused(HttpError, 409, lambda: create("both-key", "both-2"))
    refused(HttpError, 409, lambda: create("both-key"))
    create("lone-key")
    refused(HttpError, 409, lambda: create("lone-key", "both-3"))


def attempts(client, receiver, endpoint, sent):
    def of_message():
        return client.message_attempt.list_by_msg("acme", sent.id).data

    first = eventually("an attempt", of_message)[0]
    assert (first.status, first.response_status_code, first.endpoint_id, first.msg_id) == (0, 204, endpoint.id, sent.id)
    assert first.url == receiver.url() and first.response_duration_ms >= 0
    assert client.message_attempt.get("acme", sent.id, first.id).id == first.id
    refused(HttpError, 404, lambda: client.message_attempt.get("acme", sent.id, "dlv_01HQXYZ123ABCDEFGH00000000-1"))
    assert len(client.message_attempt.list_by_msg("acme", "paid-1", MessageAttemptListByMsgOptions(endpoint_id="main")).data) == 1
    seen, iterator = [], None
    while True:
        options = MessageAttemptListByEndpointOptions(limit=1, iterator=iterator, with_msg=True)
        page = client.message_attempt.list_by_endpoint("acme", "main", options)
        assert len(page.data) <= 1 and all(one.msg for one in page.data)
        seen += [one.id for one in page.data]
        iterator = page.iterator
        if page.done:
            break
    assert first.id in seen and len(seen) == len(set(seen)) == 3
    assert client.message_attempt.list_by_endpoint("acme", "main", MessageAttemptListByEndpointOptions(status=MessageStatus.FAIL)).data == []
    assert sent.id in [one.id for one in client.message_attempt.list_attempted_messages("acme", "main").data]
    assert [one.id for one in client.message_attempt.list_attempted_destinations("acme", sent.id).data] == [endpoint.id]
    client.message_attempt.resend("acme", sent.id, endpoint.id)
    assert receiver.take()[0]["svix-id"] == sent.id
    eventually("a second attempt", lambda: len(of_message()) == 2)


def recovery(gateway, client, receiver):
    since = now()
    receiver.status = 410
    lost = client.message.create("acme", MessageIn(event_type="invoice.paid", payload={"lost": True}))
    receiver.take()
    receiver.status = 204
    eventually("the endpoint is disabled", lambda: client.endpoint.get("acme", "main").disabled)
    client.endpoint.patch("acme", "main", EndpointPatch(disabled=False))
    failed = client.message_attempt.list_by_endpoint("acme", "main", MessageAttemptListByEndpointOptions(status=MessageStatus.FAIL))
    assert [one.msg_id for one in failed.data] == [lost.id] and failed.data[0].response_status_code == 410

    def finished(task):
        assert task.status in ("running", "finished"), task
        return eventually("the task", lambda: client.background_task.get(task.id).status == "finished")

    task = client.endpoint.recover("acme", "main", RecoverIn(since=since))
    assert task.task == "endpoint.recover" and receiver.take()[0]["svix-id"] == lost.id
    finished(task)
    late = client.endpoint.create("acme", EndpointIn(url=receiver.url("/late"), uid="late", **{EVENT_TYPES: ["invoice.paid"]}))
    task = client.endpoint.replay_missing("acme", "late", ReplayIn(since=since))
    assert task.task == "endpoint.replay" and receiver.take("/late")[0]["svix-id"] == lost.id
    finished(task)
    finished(client.endpoint.replay_missing("acme", "late", ReplayIn(since=since)))
    assert receiver.arrived.empty(), "what was not missing was sent again"
    finished(client.endpoint.bulk_replay("acme", "late", BulkReplayIn(since=since, event_types=["invoice.paid"])))
    receiver.take("/late")
    tenant = Svix(gateway.key_of("acme"), SvixOptions(server_url=gateway.url))
    assert task.id in [one.id for one in tenant.background_task.list().data]
    refused(HttpError, 501, client.background_task.list)
    client.endpoint.delete("acme", late.id)
    long_ago = EndpointGetStatsOptions(since=now() - datetime.timedelta(days=60))
    refused(HTTPValidationError, 422, lambda: client.endpoint.get_stats("acme", "main", long_ago))
    figures = eventually("figures", lambda: (s := client.endpoint.get_stats("acme", "main")).success >= 3 and s)
    assert figures.sending == 0 and (figures.fail >= 1 if IS_FIRST else client.endpoint.get_attempt_stats("acme", "main").fail >= 1)


def secrets(client, receiver, secret):
    client.endpoint.rotate_secret("acme", "main", EndpointSecretRotateIn(key="AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"))
    new = client.endpoint.get_secret("acme", "main").key
    assert new == "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
    client.message.create("acme", MessageIn(event_type="invoice.paid", payload={"r": 1}))
    headers, body = receiver.take()
    assert verified(new, headers, body) == verified(secret, headers, body) == {"r": 1}, "both sign during the grace period"


def access(gateway, client):
    portal = client.authentication.app_portal_access("acme", AppPortalAccessIn(expiry=3600))
    assert portal.url.startswith("http") and portal.token in portal.url
    visitor = Svix(portal.token, SvixOptions(server_url=gateway.url))
    assert visitor.application.list().data[0].uid == "acme" and visitor.endpoint.list("acme").data
    refused(HTTPValidationError, 422, lambda: client.authentication.app_portal_access("acme", AppPortalAccessIn(read_only=True)))
    client.authentication.expire_all("acme", ApplicationTokenExpireIn())
    refused(HttpError, 401, lambda: visitor.endpoint.list("acme"))
    assert refused(HttpError, 401, lambda: Svix("wrong-token", SvixOptions(server_url=gateway.url)).application.list()).code == "authentication_failed"

    tenant = Svix(gateway.key_of("acme"), SvixOptions(server_url=gateway.url))
    other = gateway.call("/api/v1/app/new-app/msg")[1]["data"][0]["id"]
    assert tenant.application.get("acme").uid == "acme" and [one.uid for one in tenant.application.list().data] == ["acme"]
    tenant.message.create("acme", MessageIn(event_type="unheard.of", payload={}))
    assert [one.name for one in tenant.event_type.list().data] == ["invoice.paid"]
    for run in (
        lambda: tenant.application.get("new-app"), lambda: tenant.endpoint.list("new-app"), lambda: tenant.message.get("acme", other),
        lambda: tenant.message.create("new-app", MessageIn(event_type="a.b", payload={}, application=ApplicationIn(name="x", uid="new-app"))),
    ):
        error = None
        try:
            run()
        except HttpError as caught:
            error = caught
        assert error and error.status_code in (403, 404), error
    refused(HttpError, 403, lambda: tenant.application.create(ApplicationIn(name="mine", uid="mine")))


def documented_calls():
    """Every method and path that the client has."""
    found = set()
    for file in pathlib.Path(svix.api.__file__).parent.glob("*.py"):
        calls = re.finditer(r'_request_sync\(\s*method="(\w+)",\s*path="([^"]+)"', file.read_text())
        found |= {(call[1].upper(), call[2]) for call in calls}
    assert len(found) > 120, found
    return found


def unsupported(gateway, client):
    of_endpoint = client.endpoint.transformation_get if IS_FIRST else client.endpoint.transformation.get
    error = refused(HttpError, 501, lambda: of_endpoint("acme", "main"))
    assert error.code == "not_supported" and "code" in error.detail, error
    for method, path in sorted(documented_calls()):
        path = re.sub(r"\{app_id\}", "acme", path)
        path = re.sub(r"\{\w+\}", "nothing", path)
        if method == "DELETE" and path == "/api/v1/app/acme":
            continue
        status, body = gateway.call(path, b"{}" if method in ("POST", "PUT", "PATCH") else None, method)
        assert not (status == 404 and "no call at this path" in body["detail"]), f"{method} {path} is not known"
        assert status not in (405, 500), f"{method} {path}: {status} {body}"
        assert status < 300 or (isinstance(body["detail"], list) if status == 422 else body["code"] and body["detail"]), body
    status, body = gateway.call("/api/v1/no/such/call")
    assert status == 404 and body["code"] == "not_found"


def hostile(gateway):
    """Bodies that no client sends."""
    big = json.dumps({"eventType": "a.b", "payload": {"x": "y" * 2_000_000}}).encode()
    cases = [
        ("POST", "/api/v1/app/acme/msg", big, 413), ("POST", "/api/v1/app/acme/msg", b"[" * 100_000, 422),
        ("POST", "/api/v1/app/acme/msg", b'{"eventType":"a.b","payload":' + b"[" * 500 + b"]" * 500 + b"}", 422),
        ("POST", "/api/v1/app/acme/msg", b'{"eventType":"a.b","payload":{"d":' + b"[" * 500 + b"]" * 500 + b"}}", None),
        ("POST", "/api/v1/app/acme/msg", b'\xff\xfe', 422), ("POST", "/api/v1/app/acme/msg", b'{"eventType":"webhook.x","payload":{}}', 422),
        ("POST", "/api/v1/app/acme/msg", b'{"eventType":1,"payload":[],"eventId":"a b","surprise":1}', 422),
        ("POST", "/api/v1/app", b'{"name":"x","uid":"../../etc"}', 422), ("POST", "/api/v1/app", b'{"name":"x","uid":"' + b"A" * 200 + b'"}', 422),
        ("GET", "/api/v1/app/..%2f..%2ftenants", None, 404), ("GET", "/api/v1/app/acme%00", None, 404), ("GET", "/api/v1/app/%ff", None, 404),
        ("GET", "/api/v1/app/acme/endpoint/..", None, None), ("GET", "/api/v1/app/acme/endpoint/%2e%2e", None, 404),
        ("GET", "/api/v1/app/acme/msg?limit=0", None, 422), ("GET", "/api/v1/app/acme/msg?limit=-1", None, 422),
        ("GET", "/api/v1/app/acme/msg?iterator=" + "A" * 5000, None, 422), ("GET", "/api/v1/app/acme/msg?before=never", None, 422),
        ("GET", "/api/v1/app/acme/msg?surprise=1", None, 422), ("GET", "/api/v1/app/operator", None, 404),
        ("GET", "/api/v1/app/acme/attempt/endpoint/main?status=99", None, 200), ("DELETE", "/api/v1/app/acme/msg", None, 405),
    ]
    for method, path, body, wanted in cases:
        status, answer = gateway.call(path, body, method)
        assert status == wanted or (wanted is None and 400 <= status < 500), f"{method} {path}: {status} {answer}"
        assert status < 300 or "detail" in answer, answer


def deletion(gateway, client):
    tenant = Svix(gateway.key_of("acme"), SvixOptions(server_url=gateway.url))
    refused(HttpError, 403, lambda: tenant.application.delete("acme"))
    client.application.delete("put-me")
    eventually("the application is gone", lambda: not [1 for one in client.application.list().data if one.uid == "put-me"])


def main():
    gancho, server = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    name, database = new_database(server) if server else (None, None)
    receiver, gateway = Receiver(), Gateway(gancho, database)
    try:
        client = Svix(TOKEN, SvixOptions(server_url=gateway.url))
        client.health.get()
        applications(client)
        event_types(client)
        endpoint, secret = endpoints(client, receiver)
        sent = messages(client, receiver, endpoint, secret)
        attempts(client, receiver, endpoint, sent)
        recovery(gateway, client, receiver)
        secrets(client, receiver, secret)
        access(gateway, client)
        unsupported(gateway, client)
        hostile(gateway)
        deletion(gateway, client)
    finally:
        gateway.stop()
        if name:
            drop_database(server, name)
    print(f"svix {svix.__version__} for Python passed the tour on {'PostgreSQL' if server else 'SQLite'}")


main()
