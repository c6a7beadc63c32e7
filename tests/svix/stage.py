"""A running gateway and a receiver, for the tours of the Svix clients."""

import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

TOKEN = "tour-token-0123456789abcdef"


class Receiver(http.server.ThreadingHTTPServer):
    """Answers as the test says, and keeps what arrived."""

    def __init__(self):
        self.arrived, self.status = queue.Queue(), 204
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def take(self, path="/hook", within=30):
        got, headers, body = self.arrived.get(timeout=within)
        assert got == path, f"{got} arrived, not {path}"
        return headers, body


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.arrived.put((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


class Gateway:
    """`database` is the URL of a PostgreSQL database, or None for the embedded store. `prepare` gets the data folder."""

    def __init__(self, gancho, database=None, prepare=None):
        self.gancho, self.folder = gancho, tempfile.mkdtemp()
        self.environment = {
            "GANCHO_ADMIN_TOKEN": TOKEN, "GANCHO_DATA_DIR": self.folder, "GANCHO_API_LISTEN": "127.0.0.1:0",
            "GANCHO_INGEST_LISTEN": "127.0.0.1:0", "GANCHO_ALLOW_HTTP": "true", "GANCHO_ALLOW_CIDRS": "127.0.0.0/8",
            "GANCHO_LOG_FORMAT": "json", "PATH": os.environ["PATH"],
        }
        if database:
            self.environment["GANCHO_DATABASE_URL"] = database
        if prepare:
            prepare(self.folder)
        self._start()

    def _start(self):
        with open(self.folder + "/log", "w") as log:
            self.process = subprocess.Popen([self.gancho, "serve"], stdout=log, stderr=log, env=self.environment)
        self.url = self._ready()

    def restart(self):
        """The API has another port afterwards."""
        self.stop()
        self._start()

    def _ready(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            for line in open(self.folder + "/log"):
                if '"gancho is ready"' in line:
                    return "http://" + json.loads(line)["api"]
            time.sleep(0.05)
        sys.exit("the gateway did not start: " + open(self.folder + "/log").read())

    def call(self, path, body=None, method=None, token=TOKEN, headers=None):
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("content-type", "application/json")
        for name, value in {"authorization": "Bearer " + token, **(headers or {})}.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text else None

    def key_of(self, tenant):
        status, made = self.call(f"/v1/tenants/{tenant}/api-keys", {"name": "tour"})
        assert status == 201, made
        return made["key"]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def new_database(url):
    """A database of its own on the server of `url`, by psql; the URL of it."""
    name = f"svix_tour_{os.getpid()}_{int(time.time())}"
    subprocess.run(["psql", "-q", url, "-c", f"CREATE DATABASE {name}"], check=True)
    parts = urllib.parse.urlsplit(url)
    return name, urllib.parse.urlunsplit(parts._replace(path="/" + name))


def drop_database(url, name):
    subprocess.run(["psql", "-q", url, "-c", f"DROP DATABASE {name} WITH (FORCE)"], check=True)


def eventually(what, check, within=30):
    end = time.monotonic() + within
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it never happened: " + what)
