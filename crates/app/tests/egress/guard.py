"""The gateway among listeners on private addresses, none of which it may ever reach.

Runs in a network of its own (see guard.rs): the addresses below really are on its loopback interface, and
something listens on each of them. A name server says whatever its question asks for. The pass is that nothing
was accepted, except at the one address that the operator allowed: that one shows that an accept is seen.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

GANCHO = sys.argv[1]
TOKEN = "guard-token-0123456789abcdef"
PORTS = [80, 443, 8080]
ALLOWED = "203.0.113.7"
PRIVATE = [
    "10.0.0.1", "10.255.255.254", "100.64.0.1", "100.100.100.200", "127.0.0.2", "127.255.255.254",
    "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.254", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "192.168.0.1", "192.168.255.254", "198.18.0.1", "198.51.100.1", "168.63.129.16",
    "::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fec0::1", "2001:db8::1", "64:ff9b::a9fe:a9fe",
    "64:ff9b::7f00:1", "2002:7f00:1::1", "2001::1", "100::1",
]
# Spellings of the same that a URL may have.
SPELLINGS = [
    "127.1", "127.0.1", "0", "0.0.0.0", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "2130706433",
    "127.0.0.1.", "%31%32%37.0.0.1", "127。0。0。1", "①②⑦.⓪.⓪.①", "2852039166", "0xa9fea9fe", "localhost",
    "LOCALHOST", "localhost.", "a.localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:a9fe:a9fe]", "[::]", "metadata.google.internal", "kubernetes.default.svc",
    "good@127.0.0.1", "good:80@10.0.0.1",
]


def run(*command):
    subprocess.run(command, check=True)


def set_up():
    run("ip", "link", "set", "lo", "up")
    for address in PRIVATE + [ALLOWED]:
        if address in ("::1", "127.0.0.2", "127.255.255.254"):
            continue
        run("ip", "addr", "add", address + ("/128" if ":" in address else "/32"), "dev", "lo", *(["nodad"] if ":" in address else []))
    with tempfile.NamedTemporaryFile("w", delete=False) as resolver:
        resolver.write("nameserver 127.0.0.53\n")
    os.chmod(resolver.name, 0o644)
    run("mount", "--bind", resolver.name, "/etc/resolv.conf")


accepts = []


def listen():
    """On every address at once: one socket for each family and port."""
    for port in PORTS:
        for family, anywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            server = socket.socket(family, socket.SOCK_STREAM)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            server.bind((anywhere, port))
            server.listen(64)
            threading.Thread(target=accept, args=(server,), daemon=True).start()


def accept(server):
    while True:
        client, _ = server.accept()
        accepts.append(client.getsockname()[0])
        client.settimeout(2)
        try:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        except OSError:
            pass
        client.close()


def answer_names():
    """`x-10-0-0-1.v4.test` is 10.0.0.1, `x-<32 hex digits>.v6.test` is that address; both at once for `.both`."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.53", 53))
    while True:
        question, asker = server.recvfrom(4096)
        labels, place = [], 12
        while question[place]:
            labels.append(question[place + 1 : place + 1 + question[place]].decode())
            place += 1 + question[place]
        kind = struct.unpack(">H", question[place + 1 : place + 3])[0]
        end = place + 5
        data = None
        name = labels[0].split("-")
        if kind == 1 and labels[1:2] == ["v4"]:
            data = bytes(int(part) for part in name[1:5])
        if kind == 28 and labels[1:2] == ["v6"]:
            data = bytes.fromhex(name[1])
        head = question[:2] + b"\x81\x80\x00\x01" + (b"\x00\x01" if data else b"\x00\x00") + b"\x00\x00\x00\x00"
        reply = head + question[12:end]
        if data:
            reply += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data
        server.sendto(reply, asker)


def call(method, path, body=None):
    request = urllib.request.Request("http://127.0.0.1:3000" + path, method=method)
    request.add_header("authorization", "Bearer " + TOKEN)
    if path != "/v1/tenants":
        request.add_header("x-tenant", "acme")
    data = None
    if body is not None:
        request.add_header("content-type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"null")


def until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def is_up():
    try:
        return urllib.request.urlopen("http://127.0.0.1:3000/readyz", timeout=2).status == 200
    except OSError:
        return False


def literal(address):
    return f"[{address}]" if ":" in address else address


def named(address):
    if ":" in address:
        return f"x-{socket.inet_pton(socket.AF_INET6, address).hex()}.v6.test"
    return f"x-{address.replace('.', '-')}.v4.test"


def main():
    set_up()
    listen()
    threading.Thread(target=answer_names, daemon=True).start()
    folder = tempfile.mkdtemp()
    log = open(folder + "/log", "w")
    gateway = subprocess.Popen(
        [GANCHO, "serve"], stdout=log, stderr=log,
        env={"GANCHO_ADMIN_TOKEN": TOKEN, "GANCHO_DATA_DIR": folder, "GANCHO_API_LISTEN": "127.0.0.1:3000", "GANCHO_INGEST_LISTEN": "127.0.0.1:0",
             "GANCHO_ALLOW_HTTP": "true", "GANCHO_ALLOW_CIDRS": ALLOWED + "/32", "PATH": os.environ["PATH"],
             # Must be ignored: nothing may be sent through a proxy that was not configured.
             "HTTP_PROXY": "http://10.0.0.1:8080", "ALL_PROXY": "http://10.0.0.1:8080"},
    )
    try:
        until("the gateway starts", is_up)
        status, _ = call("POST", "/v1/tenants", {"slug": "acme"})
        assert status == 201, status

        refused = 0
        hosts = [literal(address) for address in PRIVATE] + SPELLINGS
        for host in hosts:
            for scheme, port in (("http", ""), ("https", ""), ("http", ":8080")):
                url = f"{scheme}://{host}{port}/hook"
                status, answer = call("POST", "/v1/webhooks", {"url": url, "events": ["*"]})
                assert status == 422, f"{url} was saved: {status} {answer}"
                refused += 1

        endpoints = {}
        for address in PRIVATE + [ALLOWED]:
            for scheme in ("http", "https"):
                url = f"{scheme}://{named(address)}/hook"
                body = {"url": url, "events": ["*"], "retry": {"schedule": ["1s"]}, "timeout": "2s"}
                status, answer = call("POST", "/v1/webhooks", body)
                if status == 422:
                    refused += 1
                    continue
                assert status == 201, f"{url}: {status} {answer}"
                endpoints[answer["id"]] = (scheme, address)
        assert any(address == ALLOWED for _, address in endpoints.values())

        status, event = call("POST", "/v1/events", {"type": "a.b", "data": {}})
        assert status == 202 and event["deliveries"] == len(endpoints), (status, event)

        def rows():
            return call("GET", "/v1/deliveries?limit=500&event_id=" + event["id"])[1]["data"]

        until("every delivery has ended", lambda: all(row["status"] in ("delivered", "failed") for row in rows()))
        blocked = 0
        for row in rows():
            scheme, address = endpoints[row["webhook_id"]]
            if address == ALLOWED:
                assert row["status"] == ("delivered" if scheme == "http" else "failed"), row
            else:
                assert row["status"] == "failed" and row["last_error_code"] == "ADDRESS_BLOCKED", (address, row)
                blocked += 1
        for webhook, (_, address) in endpoints.items():
            if address != ALLOWED:
                status, answer = call("POST", f"/v1/webhooks/{webhook}/test", {})
                assert not answer.get("success"), (address, answer)

        reached = sorted(set(accepts) - {ALLOWED})
        assert not reached, f"connections were accepted at {reached}"
        assert ALLOWED in accepts, "the allowed address was not reached: this test would see nothing"
        assert gateway.poll() is None, "the gateway died"
        print(f"{refused} urls refused, {blocked} deliveries blocked, 0 accepts")
    finally:
        gateway.terminate()
        gateway.wait(30)


main()
