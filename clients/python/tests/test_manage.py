"""Managing: webhooks, deliveries, replays, dead letters, sources, and lists of several pages."""

import threading
import time
from datetime import datetime, timedelta, timezone

import gancho as g
import pytest

FAST = {"schedule": []}


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return value


def test_a_delivery_verifies_and_another_does_not(gancho, receiver):
    webhook = gancho.webhooks.create(receiver.url, ["invoice.*"])
    published = gancho.events.publish("invoice.paid", {"name": "João", "amount": 42})
    headers, body = receiver.next()
    event = g.verify(body, headers, webhook.secret)
    assert (event.type, event.data) == ("invoice.paid", {"name": "João", "amount": 42}) and event.id
    assert event.timestamp == gancho.events.get(published.id).created_at
    other = gancho.webhooks.create(receiver.url, ["x"]).secret
    assert g.verify(body.decode(), headers, [other, webhook.secret]) == event
    old = {**{k.lower(): v for k, v in headers.items()}, "webhook-timestamp": str(int(time.time()) - 400)}
    without = {k: v for k, v in headers.items() if k.lower() != "webhook-signature"}
    for arguments in ((body + b" ", headers), (body, old), (body, without), (b"\xff", headers)):
        with pytest.raises(g.SignatureError):
            g.verify(*arguments, webhook.secret)
    with pytest.raises(g.SignatureError):
        g.verify(body, headers, other)
    with pytest.raises(g.ConfigurationError):
        g.verify(body, headers, "")


@pytest.mark.parametrize("secret", [None, "", [], [None]])
def test_a_secret_that_is_missing(secret):
    with pytest.raises(g.ConfigurationError, match="no secret"):
        g.verify(b"{}", {}, secret)


def test_both_secrets_verify_while_one_is_replaced(gancho, receiver):
    webhook = gancho.webhooks.create(receiver.url, ["*"])
    rotated = gancho.webhooks.rotate_secret(webhook.id)
    gancho.events.publish("a.b", 1)
    headers, body = receiver.next()
    assert rotated.secret != webhook.secret
    for secret in (webhook.secret, rotated.secret):
        assert g.verify(body, headers, secret).type == "a.b"


def test_a_webhook_is_changed_and_deleted(gancho):
    webhook = gancho.webhooks.create("http://127.0.0.1:39999/", ["*"], timeout="5s", name="first", max_in_flight=3)
    assert (webhook.timeout, webhook.max_in_flight) == ("5s", 3)
    changed = gancho.webhooks.update(webhook.id, name="second", max_in_flight=None)
    assert (changed.name, changed.max_in_flight, changed.timeout) == ("second", None, "5s")
    gancho.webhooks.pause(webhook.id)
    gancho.webhooks.resume(webhook.id)
    assert gancho.webhooks.delete(webhook.id) is None
    assert list(gancho.webhooks.list()) == []


def test_a_failed_delivery_is_retried_and_replayed(gancho, receiver):
    receiver.status = 500
    webhook = gancho.webhooks.create(receiver.url, ["*"], retry=FAST)
    published = gancho.events.publish("a.b", {"n": 1})
    receiver.next()
    [failed] = wait_for(lambda: list(gancho.deliveries.list(status="failed")))
    detail = gancho.deliveries.get(failed.id)
    assert detail.event_id == published.id and detail.attempt_log[0].response_status == 500
    [letter] = gancho.dead_letters.list()
    assert gancho.dead_letters.stats().total == 1
    assert [exported.id for exported in gancho.dead_letters.export()] == [letter.id]
    receiver.status = 204
    gancho.dead_letters.replay(letter.id)
    headers, body = receiver.next()
    assert g.verify(body, headers, webhook.secret).data == {"n": 1}
    wait_for(lambda: list(gancho.deliveries.list(status="delivered")))
    since = datetime.now(timezone.utc) - timedelta(hours=1)
    job = gancho.replays.create(filter={"webhook_id": webhook.id, "since": since})
    receiver.next()
    assert wait_for(lambda: gancho.replays.get(job.id).state == "done")


def test_all_pages_are_read(gancho):
    ids = []
    for start in range(0, 130, 65):
        batch = [{"type": "a.b", "data": n} for n in range(start, start + 65)]
        ids += [result.id for result in gancho.events.publish_batch(batch).results]
    assert {event.id for event in gancho.events.list(limit=25)} == set(ids)
    sizes = [len(page.data) for page in gancho.events.list(limit=25).pages()]
    assert sum(sizes) == 130 and len(sizes) >= 6
    first = gancho.events.list(limit=25).page()
    second = gancho.events.list(limit=25).page(first.next_cursor)
    assert not {event.id for event in first.data} & {event.id for event in second.data}


def test_an_empty_page_is_not_the_end(gancho, receiver):
    gancho.webhooks.create(receiver.url, ["*"], is_active=True)
    gancho.events.publish("a.b", "needle")
    for _ in range(5):
        gancho.events.publish_batch([{"type": "a.b", "data": "hay"}] * 1000)
    found = gancho.deliveries.list(text="needle")
    assert found.page().data == [] and found.page().next_cursor
    assert len(list(found)) == 1


def test_a_live_tail(gancho, receiver):
    gancho.webhooks.create(receiver.url, ["*"])
    tail = iter(gancho.deliveries.tail())
    # The tail is open once its first change is here, so events are published until then.
    done = threading.Event()

    def publish():
        while not done.wait(0.2):
            gancho.events.publish("a.b", 1)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        change = next(tail)
    finally:
        done.set()
        thread.join()
    assert change.event_type == "a.b" and change.change and isinstance(change.at, datetime)


def test_the_operator_manages(operator, tenant):
    assert any(found.slug == tenant.slug for found in operator.tenants.list())
    link = operator.portal_links.create(tenant.slug)
    assert link.url.startswith("http")
    name = "p-" + tenant.slug
    source = operator.sources.create(name, targets=["http://127.0.0.1:39999/"])
    assert source.dispatch_secret and operator.sources.get(name).counts.received == 0
    key = operator.sources.put_key(name, "k1", "hmac", secret="0123456789abcdef0123456789abcdef")
    assert key.scheme == "hmac" and [k.key_id for k in operator.sources.list_keys(name)] == ["k1"]
    operator.sources.delete(name)
    acting = operator.with_options(tenant=tenant.slug)
    acting.event_types.create("invoice.paid", description="Paid")
    assert "invoice.paid" in {kind.name for kind in acting.event_types.list()}
    acting.suppressions.add("no@example.com", reason="manual")
    assert [entry.address for entry in acting.suppressions.list()] == ["no@example.com"]
    acting.suppressions.remove("no@example.com")
    assert operator.queues.list().data and operator.nodes.list().page().data
    assert acting.stats.get() and acting.usage.get() and operator.ledger.get()
    assert [key.scopes for key in operator.tenants.list_api_keys(tenant.slug)]
    assert operator.tenants.delete(tenant.slug)
