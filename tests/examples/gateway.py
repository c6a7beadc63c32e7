"""A real gateway in a temporary folder, for tests."""

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

TOKEN = "examples-token-0123456789abcdef"


def wait_for(what, condition, seconds=30):
    """Waits for a condition that returns something, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


class Gateway:
    def __init__(self, binary, **settings):
        self.folder = tempfile.TemporaryDirectory()
        self.log_path = os.path.join(self.folder.name, "log")
        variables = {
            "GANCHO_ADMIN_TOKEN": TOKEN, "GANCHO_DATA_DIR": self.folder.name, "GANCHO_API_LISTEN": "127.0.0.1:0",
            "GANCHO_INGEST_LISTEN": "127.0.0.1:0", "GANCHO_ALLOW_HTTP": "true", "GANCHO_ALLOW_CIDRS": "127.0.0.0/8",
            "GANCHO_LOG_FORMAT": "json", "PATH": os.environ["PATH"], "HOME": self.folder.name,
            **settings,
        }
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen([binary, "serve"], stdout=log, stderr=log, env=variables)
        ready = wait_for(f"the gateway starts: {self.log()}", self.ready)
        self.api, self.ingest = "http://" + ready["api"], "http://" + ready["ingest"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def log(self):
        with open(self.log_path) as log:
            return log.read()

    def ready(self):
        assert self.process.poll() is None, f"the gateway stopped:\n{self.log()}"
        lines = [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]
        return next((line for line in lines if line["message"] == "gancho is ready"), None)

    def call(self, path, body=None, tenant="acme", method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api + path, data, {"content-type": "application/json"}, method=method)
        request.add_header("authorization", "Bearer " + TOKEN)
        if tenant:
            request.add_header("x-tenant", tenant)
        try:
            return json.load(urllib.request.urlopen(request, timeout=10))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from error
