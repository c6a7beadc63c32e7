"""Publishing: alone, in batches, and exactly once whatever happens to the connection."""

import asyncio
from datetime import datetime, timedelta, timezone

import pytest
from gancho import APIConnectionError, APITimeoutError, AsyncGancho, RateLimitError, ValidationError


def test_an_event_is_published_and_read_back(gancho):
    due = datetime.now(timezone.utc) + timedelta(hours=1)
    published = gancho.events.publish("invoice.paid", {"n": 1}, external_id="inv_1", deliver_at=due)
    event = gancho.events.get(published.id)
    assert (event.type, event.data, event.external_id) == ("invoice.paid", {"n": 1}, "inv_1")
    assert abs(event.created_at - datetime.now(timezone.utc)) < timedelta(minutes=1)


@pytest.mark.parametrize("data", [None, 0, "", [], "João 🪝", {"a": [1, {"b": None}]}])
def test_any_json_value_is_data(gancho, data):
    assert gancho.events.get(gancho.events.publish("a.b", data).id).data == data


def test_a_repeated_idempotency_key_publishes_one_event(gancho):
    keys = ["order-1", "pedido nº 1"]
    for key in keys:
        first = gancho.events.publish("a.b", 1, idempotency_key=key)
        assert gancho.events.publish("a.b", 1, idempotency_key=key).id == first.id
        with pytest.raises(ValidationError) as caught:
            gancho.events.publish("a.b", 2, idempotency_key=key)
        assert caught.value.code == "idempotency_mismatch"
    assert len(list(gancho.events.list())) == len(keys)


def test_without_a_key_every_call_is_an_event(gancho):
    assert gancho.events.publish("a.b", 1).id != gancho.events.publish("a.b", 1).id


def test_a_batch_says_what_became_of_each_event(gancho):
    outcome = gancho.events.publish_batch(
        [{"type": "a.b", "data": 1}, {"type": "", "data": 2}, {"type": "a.c", "data": None, "external_id": "x"}]
    )
    assert (outcome.accepted, outcome.refused) == (2, 1)
    assert [result.status for result in outcome.results] == [202, 422, 202]
    assert outcome.results[1].error.errors[0].pointer == "/events/1/type"


@pytest.mark.parametrize("losses", [["cut"], ["cut", "cut", "cut"], ["hold"], ["reset"], ["short"], ["garbage"], [503, "cut", 502, "reset"]])
def test_a_lost_answer_makes_no_second_event(make, tenant, gancho, proxy, losses):
    proxy.script = list(losses)
    client = make(api_key=tenant.key, url=proxy.url, timeout=1)
    published = client.events.publish("invoice.paid", {"n": 1})
    bodies = {body for *_, body in proxy.requests}
    assert len(proxy.requests) == len(losses) + 1 and len(bodies) == 1 and b"idempotency_key" in bodies.pop()
    assert [event.id for event in gancho.events.list()] == [published.id]


def test_a_lost_answer_makes_no_second_batch(make, tenant, gancho, proxy):
    proxy.script = ["cut", "hold"]
    client = make(api_key=tenant.key, url=proxy.url, timeout=1)
    outcome = client.events.publish_batch([{"type": "a.b", "data": n} for n in range(10)])
    assert len(proxy.requests) == 3 and len({headers["Idempotency-Key"] for _, _, headers, _ in proxy.requests}) == 1
    assert {event.id for event in gancho.events.list()} == {result.id for result in outcome.results}
    assert all(result.replayed for result in outcome.results)


def test_an_email_is_sent_once(make, tenant, gancho, proxy):
    proxy.script = ["cut"]
    client = make(api_key=tenant.key, url=proxy.url)
    sent = client.emails.send("shop@example.com", "ana@example.com", "Hello", text="Hi", external_id="e1")
    [email] = gancho.emails.list()
    assert len(proxy.requests) == 2 and (email.outbox_id, email.external_id) == (sent.outbox_id, "e1")


def test_what_is_not_safe_to_repeat_is_not_repeated(make, tenant, gancho, proxy):
    proxy.script = ["cut"]
    client = make(api_key=tenant.key, url=proxy.url)
    with pytest.raises(APIConnectionError):
        client.webhooks.create("http://127.0.0.1:39999/", ["*"])
    assert len(proxy.requests) == 1 and len(list(gancho.webhooks.list())) == 1


def test_a_busy_gateway_is_asked_again_when_it_says(make, tenant, proxy):
    proxy.script, proxy.retry_after = [503], "1"
    client = make(api_key=tenant.key, url=proxy.url)
    begin = datetime.now()
    client.events.publish("a.b", 1)
    assert len(proxy.requests) == 2 and timedelta(seconds=1) <= datetime.now() - begin < timedelta(seconds=5)


def test_a_date_to_be_asked_again_is_kept(make, tenant, proxy):
    """By the clock of the one who says it, which may be wrong."""
    dates = [("date", "Wed, 21 Oct 2015 07:28:00 GMT"), ("retry-after", "Wed, 21 Oct 2015 07:28:02 GMT")]
    proxy.script = [(429, "text/html", "<p>busy", *dates)]
    client = make(api_key=tenant.key, url=proxy.url)
    begin = datetime.now()
    client.events.publish("a.b", 1)
    assert len(proxy.requests) == 2 and timedelta(seconds=2) <= datetime.now() - begin < timedelta(seconds=6)


@pytest.mark.parametrize("given, seconds", [("2", 2), ("0.5", 0.5), ("-1", 0), ("x", None), ("", None), ("inf", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)])
def test_when_to_go_on(make, proxy, given, seconds):
    proxy.script = [(429, "text/html", "<p>busy", ("retry-after", given))]
    with pytest.raises(RateLimitError) as caught:
        make(api_key="k", url=proxy.url, max_retries=0).events.publish("a.b", 1)
    assert (caught.value.status, caught.value.retry_after) == (429, seconds)


def test_retries_end(make, tenant, proxy):
    proxy.script = ["cut"] * 9
    with pytest.raises(APIConnectionError):
        make(api_key=tenant.key, url=proxy.url, max_retries=2).events.publish("a.b", 1)
    assert len(proxy.requests) == 3


@pytest.mark.parametrize("fault", ["hold", "drip"])
def test_a_deadline_is_kept(make, tenant, proxy, fault):
    proxy.script = [fault] * 9
    begin = datetime.now()
    with pytest.raises(APITimeoutError):
        make(api_key=tenant.key, url=proxy.url, timeout=0.5, deadline=2).events.publish("a.b", 1)
    assert timedelta(seconds=0.5) < datetime.now() - begin < timedelta(seconds=4)
    assert len(proxy.requests) > 1


def test_one_event_loop_after_another(server, tenant):
    client = AsyncGancho(api_key=tenant.key, url=server.url)

    async def publish(is_last):
        published = await client.events.publish("a.b", 1)
        if is_last:
            await client.close()
        return published.id

    assert asyncio.run(publish(False)) != asyncio.run(publish(True))
