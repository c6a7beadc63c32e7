"""Every mistake is an error with a class of its own that says what to do."""

import socket
import time
import uuid
from datetime import datetime, timedelta, timezone

import gancho as g
import pytest
from servers import Proxy


def test_no_url_and_no_key_are_named(make):
    with pytest.raises(g.ConfigurationError, match="GANCHO_URL"):
        make(api_key="k")
    with pytest.raises(g.ConfigurationError, match="GANCHO_API_KEY"):
        make(url="http://127.0.0.1:1")
    for url in ("127.0.0.1:3000", "ftp://x", "http://", "http://x/?a=1", "http://u:p@x", "http://x:99999", "http://x:y", "http://x\ny", "http://a b"):
        with pytest.raises(g.ConfigurationError):
            make(api_key="k", url=url)
    with pytest.raises(g.ConfigurationError):
        make(api_key="a b", url="http://127.0.0.1:1")
    with pytest.raises(g.ConfigurationError):
        make(api_key="a", token="b", url="http://127.0.0.1:1")


@pytest.mark.parametrize(
    "options",
    [{"tenant": "a b"}, {"tenant": "ü"}, {"tenant": ""}, {"timeout": 0}, {"timeout": None}, {"deadline": -1}, {"max_retries": -1}],
)
def test_options_that_cannot_be_right(make, options):
    client = make(api_key="gk_hidden", url="http://127.0.0.1:1")
    with pytest.raises(g.ConfigurationError):
        client.with_options(**options)


def test_a_key_is_not_shown():
    client = g.Gancho(api_key="gk_hidden", url="http://127.0.0.1:1")
    assert "gk_hidden" not in repr(client) + repr(client._transport.settings)


def test_variables_are_defaults(make, server, tenant, monkeypatch):
    monkeypatch.setenv("GANCHO_URL", server.url + "/v1/")
    monkeypatch.setenv("GANCHO_API_KEY", tenant.key + "\n")
    assert make().events.publish("a.b", 1).id


def test_the_environments_proxy_is_used(make, proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "other.invalid")
    proxy.script = [(200, "application/json", '{"data": [], "next_cursor": null}')]
    assert list(make(api_key="k", url="http://gateway.invalid").webhooks.list()) == []
    assert proxy.requests[0][1].startswith("http://gateway.invalid/v1/webhooks")
    with pytest.raises(g.APIConnectionError):
        list(make(api_key="k", url="http://other.invalid", max_retries=0).webhooks.list())


def test_a_proxy_without_a_scheme_is_one_of_http(make, proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.url.removeprefix("http://"))
    proxy.script = [(200, "application/json", '{"data": [], "next_cursor": null}')]
    assert list(make(api_key="k", url="http://gateway.invalid").webhooks.list()) == []


def test_a_proxy_that_is_not_supported(make, monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(g.ConfigurationError, match="NO_PROXY=gateway.invalid"):
        list(make(api_key="k", url="http://gateway.invalid").webhooks.list())


def test_a_refused_connection(make):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(g.APIConnectionError, match="127.0.0.1"):
        make(api_key="k", url=url, max_retries=1).webhooks.create("https://example.com", ["*"])


def test_something_else_answers(make, proxy):
    client = make(api_key="k", url=proxy.url)
    proxy.script = ["html", "redirect", 404]
    for _ in range(3):
        with pytest.raises(g.UnexpectedResponseError) as caught:
            client.webhooks.create("https://example.com", ["*"])
        assert proxy.url in caught.value.detail and caught.value.code == "unexpected_response"


@pytest.mark.parametrize("text", ["[]", "null", '"x"', "1", "{}", '{"data": null}', '{"data": [1]}', '{"ok": true}', "[" * 100_000])
def test_json_of_something_else(make, proxy, text):
    """It must not pass for an event that was published, nor for a page."""
    client = make(api_key="k", url=proxy.url)
    for call in (lambda: client.events.publish("a.b", 1), lambda: client.webhooks.list().page()):
        proxy.script = [(200, "application/json", text)]
        with pytest.raises(g.UnexpectedResponseError) as caught:
            call()
        assert caught.value.code == "unexpected_response"


@pytest.mark.parametrize("cursor", ["NaN", "5", "{}", '"a"'])
def test_a_list_that_never_ends(make, proxy, cursor):
    page = (200, "application/json", f'{{"data": [], "next_cursor": {cursor}}}')
    proxy.script = [page] * 5
    with pytest.raises(g.UnexpectedResponseError):
        list(make(api_key="k", url=proxy.url).webhooks.list())


@pytest.mark.parametrize("kind, text", [("text/html", "<p>"), ("application/json", "{}"), ("application/x-ndjson", "{")])
def test_a_stream_of_something_else(make, proxy, kind, text):
    proxy.script = [(200, kind, text)]
    with pytest.raises(g.UnexpectedResponseError):
        list(make(api_key="k", url=proxy.url).dead_letters.export())


def test_an_answer_that_ends_early(make, proxy):
    client = make(api_key="k", url=proxy.url)
    proxy.script = [(200, "application/json", '{"data": [{"id": "wh_1", "ur', ("x-request-id", "req_1"))]
    with pytest.raises(g.UnexpectedResponseError, match="ends early") as caught:
        client.webhooks.list().page()
    assert caught.value.request_id == "req_1"
    proxy.script = [(422, "application/problem+json", '{"code": "invalid_fie')]
    with pytest.raises(g.UnexpectedResponseError):
        client.events.publish("a.b", 1)


def test_a_proxy_that_cannot_reach_the_gateway(make, proxy):
    proxy.script = [(502, "text/html", "<h1>502 Bad Gateway", ("x-request-id", "edge-1"))] * 9
    with pytest.raises(g.ServerError) as caught:
        make(api_key="k", url=proxy.url, max_retries=1).events.publish("a.b", 1)
    assert (caught.value.status, caught.value.request_id, len(proxy.requests)) == (502, "edge-1", 2)
    with pytest.raises(g.ServerError):
        make(api_key="k", url=proxy.url, max_retries=1).webhooks.create("https://example.com", ["*"])
    assert len(proxy.requests) == 3, "it may have been carried out"


def test_a_redirect_is_not_followed(make, proxy):
    with Proxy("http://127.0.0.1:1") as other:
        for status in (301, 302, 303, 307, 308):
            proxy.script = [(status, "text/html", "", ("location", other.url + "/v1/events"))]
            with pytest.raises(g.UnexpectedResponseError, match="redirects to"):
                make(api_key="k", url=proxy.url).events.publish("a.b", 1)
        assert other.requests == [], "the key is for the gateway alone"


def test_an_answer_without_end(make, proxy, monkeypatch):
    monkeypatch.setattr("gancho.errors.MAX_ANSWER", 1 << 20)
    client = make(api_key="k", url=proxy.url)
    begin = time.monotonic()
    for call in (lambda: client.events.publish("a.b", 1), lambda: client.webhooks.list().page()):
        proxy.script = ["endless"]
        with pytest.raises(g.UnexpectedResponseError, match="more than 1 MiB"):
            call()
    kinds = [("application/x-ndjson", "x" * (2 << 20)), ("text/event-stream", "data: " + "x" * (2 << 20))]
    for kind, text in kinds:
        proxy.script = [(200, kind, text)]
        with pytest.raises(g.UnexpectedResponseError, match="more than 1 MiB"):
            list(client.dead_letters.export())
    assert time.monotonic() - begin < 10


def test_a_stream_that_has_died(make, proxy, monkeypatch):
    monkeypatch.setattr("gancho._sync.STREAM_SILENCE", 0.5)
    monkeypatch.setattr("gancho._async.STREAM_SILENCE", 0.5)
    for fault, timeout in (("silent", 20), ("hold", 0.5)):
        proxy.script = [fault]
        with pytest.raises(g.APITimeoutError):
            list(make(api_key="k", url=proxy.url, timeout=timeout).deliveries.tail())


def test_a_stream_with_bytes_that_are_no_text(make, proxy):
    proxy.script = [(200, "application/x-ndjson", '{"id": "\udcff"}')]
    [letter] = make(api_key="k", url=proxy.url).dead_letters.export()
    assert letter.id == "\ufffd"


def test_a_problem_of_something_else(make, proxy):
    text = '{"code": 5, "detail": null, "title": [], "errors": ["a", 1, {"pointer": null}], "request_id": 7}'
    proxy.script = [(400, "Application/Problem+JSON; charset=utf-8", text)]
    with pytest.raises(g.BadRequestError) as caught:
        make(api_key="k", url=proxy.url).events.publish("a.b", 1)
    assert (caught.value.code, caught.value.request_id, caught.value.errors) == ("5", "7", [g.FieldError("", "")])
    proxy.script = [(200, "Application/JSON", '{"data": [], "next_cursor": null}')]
    assert list(make(api_key="k", url=proxy.url).webhooks.list()) == []


def test_a_wrong_key(make, server):
    with pytest.raises(g.AuthenticationError) as caught:
        make(api_key="gk_wrong", url=server.url).events.publish("a.b", 1)
    error = caught.value
    assert (error.status, error.code) == (401, "invalid_credentials") and error.request_id.startswith("req_")


def test_a_key_that_was_revoked_or_has_expired(make, operator, tenant, server):
    made = operator.tenants.create_api_key(tenant.slug)
    client = make(api_key=made.key, url=server.url)
    client.events.publish("a.b", 1)
    operator.tenants.revoke_api_key(tenant.slug, made.id)
    soon = datetime.now(timezone.utc) + timedelta(seconds=1)
    brief = make(api_key=operator.tenants.create_api_key(tenant.slug, expires_at=soon).key, url=server.url)
    # Keys are cached for a moment.
    for gone in (client, brief):
        error = wait_for(lambda: refusal(gone))
        assert (error.status, error.code) == (401, "invalid_credentials") and error.request_id.startswith("req_")
        assert gone_key(gone) not in str(error)


def refusal(client):
    try:
        client.events.publish("a.b", 1)
    except g.AuthenticationError as error:
        return error


def gone_key(client):
    return client._transport.settings.key


def wait_for(condition):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def test_what_another_tenant_has_is_not_there(make, operator, gancho, tenant, server):
    webhook = gancho.webhooks.create("http://127.0.0.1:39999/", ["*"])
    event = gancho.events.publish("a.b", 1)
    [delivery] = gancho.deliveries.list()
    slug = "t-" + uuid.uuid4().hex[:12]
    operator.tenants.create(slug)
    other = make(api_key=operator.tenants.create_api_key(slug).key, url=server.url)
    calls = [
        lambda: other.webhooks.get(webhook.id),
        lambda: other.webhooks.update(webhook.id, name="mine"),
        lambda: other.webhooks.rotate_secret(webhook.id),
        lambda: other.webhooks.delete(webhook.id),
        lambda: other.events.get(event.id),
        lambda: other.deliveries.get(delivery.id),
        lambda: other.deliveries.retry(delivery.id),
    ]
    assert list(other.deliveries.list(webhook_id=webhook.id)) == []
    for call in calls:
        with pytest.raises(g.NotFoundError) as caught:
            call()
        error = caught.value
        assert error.code == "not_found" and error.detail and error.request_id.startswith("req_")
    # A key says whose it is; another tenant's name does not change that.
    with pytest.raises(g.APIError) as caught:
        other.with_options(tenant=tenant.slug).events.get(event.id)
    assert caught.value.status in (400, 403, 404)
    assert gancho.webhooks.get(webhook.id).name == ""


def test_an_invalid_body(gancho):
    with pytest.raises(g.ValidationError) as caught:
        gancho.webhooks.create("ftp://example.com", [])
    error = caught.value
    assert error.status == 422 and error.code == "invalid_field" and error.detail
    assert {fault.pointer for fault in error.errors} == {"/url", "/events"}
    assert "/url" in str(error) and error.request_id in str(error)


def test_what_is_not_there(gancho):
    with pytest.raises(g.NotFoundError) as caught:
        gancho.webhooks.get("wh_01M7K4SA0A000Y29CZFYEDD3T0")
    assert caught.value.status == 404


def test_what_only_the_operator_may(gancho):
    with pytest.raises(g.PermissionDeniedError) as caught:
        list(gancho.tenants.list())
    assert caught.value.code == "operator_only"


def test_a_missing_tenant(operator):
    with pytest.raises(g.BadRequestError) as caught:
        operator.events.publish("a.b", 1)
    assert caught.value.code == "tenant_required"


def test_what_cannot_be_sent(gancho):
    for data in (object(), float("nan"), {"at": datetime.now()}):
        with pytest.raises(g.InvalidRequestError):
            gancho.events.publish("a.b", data)
    for empty in ("", ".", "..", None):
        with pytest.raises(g.InvalidRequestError):
            gancho.dead_letters.delete(empty)


def test_an_id_is_one_segment_of_the_path(gancho):
    with pytest.raises(g.APIError):
        gancho.webhooks.delete("../events?x=1")


def test_a_rate_limit_is_waited_for(make, operator, gancho, tenant, server):
    operator.tenants.update(tenant.slug, publish_rate={"count": 1, "per": "2s"})
    begin = datetime.now()
    hasty = make(api_key=tenant.key, url=server.url, max_retries=0)
    with pytest.raises(g.RateLimitError) as caught:
        for _ in range(50):
            hasty.events.publish("a.b", 1)
    assert caught.value.status == 429 and caught.value.retry_after > 0
    gancho.events.publish("a.b", 2)
    assert datetime.now() - begin >= timedelta(seconds=1)


def test_the_operator_acts_for_a_tenant(make, server, tenant, operator):
    acting = make(url=server.url, token=server.token, tenant=tenant.slug)
    published = acting.events.publish("a.b", 1)
    assert operator.with_options(tenant=tenant.slug).events.get(published.id).type == "a.b"
