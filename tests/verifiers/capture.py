"""Prints deliveries that a running gateway made, in the form of `sign_samples`: one JSON object a line.

usage: capture.py GANCHO

Every profile gets an endpoint with a secret that was made for it, one with a secret of plain text, and one
whose secret is being rotated. What arrives over HTTP is what is printed, byte for byte.
"""

import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TOKEN = "capture-token-0123456789abcdef"
PROFILES = ["standard", "email-gateway", "auracore", "saas"]
BODIES = {
    "ascii": '{"id": "u_1", "amount": 1.0}',
    "unicode": '{"name": "João Gómez", "sign": "🪝 ☂"}',
    "escapes": '{"a":"\\u0000\\n\\/\\u00e9\\"","a":1e400}',
    "empty object": "{}",
    "20 KiB": json.dumps({"text": "0123456789abcdef" * 1280}),
}

arrived = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        arrived.put((self.path, dict(self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def start(gancho, folder):
    log = open(folder + "/log", "w+")
    variables = {
        "GANCHO_ADMIN_TOKEN": TOKEN, "GANCHO_DATA_DIR": folder, "GANCHO_API_LISTEN": "127.0.0.1:0", "GANCHO_INGEST_LISTEN": "127.0.0.1:0",
        "GANCHO_ALLOW_HTTP": "true", "GANCHO_ALLOW_CIDRS": "127.0.0.0/8", "GANCHO_LOG_FORMAT": "json",
        "PATH": os.environ["PATH"],
    }
    gateway = subprocess.Popen([gancho, "serve"], stdout=log, stderr=log, env=variables)
    end = time.monotonic() + 30
    while time.monotonic() < end and gateway.poll() is None:
        for line in open(folder + "/log"):
            if '"gancho is ready"' in line:
                return gateway, "http://" + json.loads(line)["api"]
        time.sleep(0.05)
    sys.exit("the gateway did not start: " + open(folder + "/log").read())


def named(name):
    """As the profiles write it; headers arrive in lower case."""
    return "-".join(part.capitalize() for part in name.split("-")) if name.startswith("x-") else name


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gateway, api = start(sys.argv[1], tempfile.mkdtemp())

    def call(path, body):
        request = urllib.request.Request(api + path, body.encode(), {"content-type": "application/json"})
        request.add_header("authorization", "Bearer " + TOKEN)
        if path != "/v1/tenants":
            request.add_header("x-tenant", "acme")
        return json.load(urllib.request.urlopen(request, timeout=10))

    try:
        call("/v1/tenants", '{"slug": "acme"}')
        keys, profiles = {}, {}
        for profile in PROFILES:
            for kind in ("made", "plain", "rotated"):
                path = f"/{profile}/{kind}"
                draft = {"url": f"http://127.0.0.1:{server.server_port}{path}", "events": ["*"], "profile": profile}
                if kind == "plain":
                    draft["secret"] = "a secret that is plain text"
                made = call("/v1/webhooks", json.dumps(draft))
                keys[path] = [{"secret": made["secret"], "format": made["secret_format"], "public_key": None}]
                profiles[path] = profile
                if kind == "rotated":
                    new = call(f"/v1/webhooks/{made['id']}/rotate-secret", "{}")
                    fresh = {"secret": new["secret"], "format": new["secret_format"], "public_key": None}
                    # Where there is room for one signature only, the old key's holder cannot verify.
                    old = keys[path] if profile in ("standard", "saas") else []
                    keys[path] = [fresh] + old
        for name, data in BODIES.items():
            call("/v1/events", '{"type": "user.created", "subject": "u_1", "data": ' + data + "}")
            for _ in keys:
                path, headers, body = arrived.get(timeout=30)
                assert data.encode() in body, f"the data was changed: {body[:200]}"
                headers = {named(name.lower()): value for name, value in headers.items()}
                sample = {"name": name, "profile": profiles[path], "keys": keys[path], "headers": headers, "body": body.decode()}
                print(json.dumps(sample))
    finally:
        gateway.terminate()
        gateway.wait(30)


main()
