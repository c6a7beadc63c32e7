"""TLS: an unknown certificate is refused, and a private authority can be trusted."""

import ssl
import subprocess
import time

import pytest
from gancho import APIConnectionError
from servers import Proxy


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, path = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", path],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, path


@pytest.fixture
def secure(server, certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate[1], certificate[0])
    with Proxy(server.url, tls) as proxy:
        yield proxy


def test_an_unknown_certificate_is_refused_at_once(make, tenant, secure):
    begin = time.monotonic()
    with pytest.raises(APIConnectionError, match="certificate"):
        make(api_key=tenant.key, url=secure.url).events.publish("a.b", 1)
    assert time.monotonic() - begin < 2 and not secure.requests


def test_a_private_authority_is_trusted(make, tenant, secure, certificate, monkeypatch):
    monkeypatch.setenv("GANCHO_CA_FILE", str(certificate[1]))
    assert make(api_key=tenant.key, url=secure.url).events.publish("a.b", 1).id
    monkeypatch.delenv("GANCHO_CA_FILE")
    context = ssl.create_default_context(cafile=certificate[1])
    assert make(api_key=tenant.key, url=secure.url, ssl_context=context).events.publish("a.b", 1).id
