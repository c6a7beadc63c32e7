"""Runs the samples of docs/production.md: the settings, and nginx and Caddy in front of a real gateway.

usage: proxies.py GANCHO

Through each proxy, over TLS, an event is published and delivered, a partner's webhook is received, a live tail is read as it
happens, and what must not be reached from outside is not. Only ports and the paths of certificates are changed.
"""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from gateway import TOKEN, Gateway, wait_for

DOCUMENT = (pathlib.Path(__file__).parents[2] / "docs/production.md").read_text()
API, HOOKS = "gancho.example.com", "hooks.example.com"
SECRET = "partner-secret-0123456789abcdef"
received = []


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.M | re.S)


def block(language):
    [only] = blocks(language)
    return only


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder, name):
    paths = f"{folder}/{name}.pem", f"{folder}/{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )
    return paths


def nginx(folder, gateway):
    port, config = free_port(), block("nginx")
    config = config.replace("listen 443 ", f"listen 127.0.0.1:{port} ")
    for name in (API, HOOKS):
        crt, key = certificate(folder, name)
        config = config.replace(f"/etc/ssl/{name}.pem", crt).replace(f"/etc/ssl/private/{name}.key", key)
    config = with_upstreams(config, gateway)
    whole = f"""
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
{"user root;" if os.getuid() == 0 else ""}
events {{}}
http {{
access_log off;
client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{config}
}}
"""
    path = f"{folder}/nginx.conf"
    pathlib.Path(path).write_text(whole)
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    tested = subprocess.run([program, "-t", "-p", folder, "-c", path], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    assert "[warn]" not in tested.stderr and "[emerg]" not in tested.stderr, tested.stderr
    return [program, "-p", folder, "-c", path], port


def caddy(folder, gateway):
    port, config = free_port(), with_upstreams(block("caddy"), gateway)
    # Certificates of its own instead of fetched ones, and ports that anyone may listen on.
    options = f"{{\nadmin off\nlocal_certs\nskip_install_trust\nauto_https disable_redirects\nhttps_port {port}\n}}\n"
    path = f"{folder}/Caddyfile"
    pathlib.Path(path).write_text(options + config)
    tested = subprocess.run(["caddy", "validate", "--config", path, "--adapter", "caddyfile"], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    return ["caddy", "run", "--config", path, "--adapter", "caddyfile"], port


def with_upstreams(config, gateway):
    for named, real in (("127.0.0.1:3000", gateway.api), ("127.0.0.1:9460", gateway.ingest)):
        assert named in config
        config = config.replace(named, real.removeprefix("http://"))
    return config


class Tls(http.client.HTTPSConnection):
    """To a proxy on this machine, with the name of the server. The certificate is not checked: it is our own."""

    def __init__(self, name, port):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        super().__init__(name, port, timeout=10, context=context)

    def connect(self):
        raw = socket.create_connection(("127.0.0.1", self.port), 10)
        self.sock = self._context.wrap_socket(raw, server_hostname=self.host)


def call(port, name, method, path, body=None, headers=None):
    connection = Tls(name, port)
    # Without the port, as with 443.
    headers = {"Host": name, **(headers or {})}
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def is_up(port):
    try:
        return call(port, API, "GET", "/readyz")[0].status == 200
    except OSError:
        return False


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def check(gateway, port, proxy):
    operator = {"Authorization": "Bearer " + TOKEN, "X-Tenant": "acme"}

    # A live tail arrives while it happens, and not when it ends.
    tail = Tls(API, port)
    tail.request("GET", "/v1/deliveries/tail", headers={"Host": API, "Accept": "text/event-stream", **operator})
    stream = tail.getresponse()
    assert stream.status == 200, stream.read()

    event = json.dumps({"type": "invoice.paid", "data": {"through": proxy}})
    answer, text = call(port, API, "POST", "/v1/events", event, operator)
    assert answer.status == 202, text
    wait_for("the event arrives", lambda: [1 for path, body in received if path == "/hook" and proxy.encode() in body])
    seen = b""
    while b"delivered" not in seen:
        line = stream.readline()
        assert line, f"the live tail ended: {seen}"
        seen += line
    tail.close()

    # A batch near its limit, in chunks and without a length.
    large = {"type": "invoice.paid", "data": {"text": "x" * 900_000}}
    batch = json.dumps({"events": [large] * 8}).encode()
    answer, text = call(port, API, "POST", "/v1/events/batch", batch, operator)
    assert answer.status in (200, 202, 207), (answer.status, text[:300])

    # A partner's webhook, and a forged one.
    body, at = json.dumps({"event_id": f"ord-{proxy}"}), str(int(time.time()))
    signature = base64.b64encode(hmac.new(SECRET.encode(), f"{at}.{body}".encode(), hashlib.sha256).digest())
    signed = {"X-Timestamp": at, "X-Key-Id": "k1", "X-Signature": "hmac-sha256=" + signature.decode()}
    answer, text = call(port, HOOKS, "POST", "/webhooks/shop", body, signed)
    assert answer.status == 204 and answer.headers["X-Policy-Sign"], text
    wait_for("the webhook is dispatched", lambda: [1 for path, got in received if path == "/core" and got == body.encode()])
    answer, _ = call(port, HOOKS, "POST", "/webhooks/shop", body + " ", signed)
    assert answer.status == 403, answer.status
    assert call(port, HOOKS, "GET", "/.well-known/jwks.json")[0].status == 200

    # What is not for the outside.
    assert call(port, API, "GET", "/metrics")[0].status == 401
    simulated, _ = call(port, HOOKS, "POST", "/webhooks/_simulate?partner=shop", "{}", operator)
    assert simulated.status in (403, 404), simulated.status
    assert call(port, HOOKS, "GET", "/v1/tenants", headers=operator)[0].status == 404
    assert call(port, API, "GET", "/v1/tenants")[0].status == 401

    # The address of the client is recorded, and not one that it made up.
    forged = {"X-Forwarded-For": "198.51.100.9", **operator}
    answer, text = call(port, API, "POST", f"/v1/tenants/acme/api-keys", '{"name": "forged"}', forged)
    assert answer.status == 201, text
    act = gateway.call("/v1/audit", tenant=None)["data"][0]
    assert act["address"] == "127.0.0.1", act

    # Another name that leads here is refused by the gateway, whatever the proxy thinks of it.
    stranger = http.client.HTTPConnection(gateway.api.removeprefix("http://"), timeout=10)
    stranger.request("GET", "/readyz", headers={"Host": "stranger.example.com"})
    assert stranger.getresponse().status == 421


def main():
    gancho = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder, "gancho.toml")
        for sample in blocks("toml"):
            # A sample of the replica alone goes with the database of the others.
            needed = "" if "database_url" in sample or "public_url" in sample else 'database_url = "postgres://db.internal/gancho"\n'
            settings.write_text(needed + sample)
            # Only what a document says counts: nothing of this machine.
            checked = subprocess.run(
                [gancho, "config", "--config", settings, "--json"], capture_output=True, text=True,
                env={"PATH": os.environ["PATH"], "HOME": folder, "GANCHO_SMTP_URL": "smtps://user:secret@smtp.example.com"}, cwd=folder,
            )
            assert checked.returncode == 0, sample + checked.stdout + checked.stderr

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    receiver = f"http://127.0.0.1:{server.server_port}"
    with Gateway(gancho, GANCHO_PUBLIC_URL=f"https://{API}") as gateway:
        gateway.call("/v1/tenants", {"slug": "acme"}, tenant=None)
        gateway.call("/v1/webhooks", {"url": f"{receiver}/hook", "events": ["invoice.*"]})
        gateway.call("/v1/sources", {"partner": "shop", "target_url": f"{receiver}/core"}, tenant=None)
        key = {"scheme": "hmac", "secret": SECRET}
        gateway.call("/v1/sources/shop/keys/k1", key, tenant=None, method="PUT")
        for start in (nginx, caddy):
            name = start.__name__
            with tempfile.TemporaryDirectory() as folder:
                command, port = start(folder, gateway)
                with open(f"{folder}/log", "w+") as log:
                    environment = {**os.environ, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder, "HOME": folder}
                    proxy = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
                    try:
                        wait_for(f"{name} listens", lambda: is_up(port))
                        check(gateway, port, name)
                    except BaseException:
                        log.seek(0)
                        print(log.read(), file=sys.stderr)
                        raise
                    finally:
                        proxy.terminate()
                        proxy.wait(30)
            print(f"docs/production.md: {name} passes on events, webhooks and a live tail")


main()
