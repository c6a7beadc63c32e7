"""Runs the samples of README.md: three ways to publish against `gancho dev`, and two to verify what it delivers.

usage: readme.py GANCHO PYTHON NODE

PYTHON has the client's wheel, and the folder NODE its npm package.
"""

import http.server
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

gancho, python, modules = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
arrived = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        arrived.put(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)


def program(language, code, **variables):
    if language == "python":
        return [python, "-I", "-c", "".join(f"{name} = {value!r}\n" for name, value in variables.items()) + code]
    script = modules / "readme.mjs"
    # Imports come first wherever they stand.
    script.write_text("".join(f"const {name} = {json.dumps(value)};\n" for name, value in variables.items()) + code)
    return ["node", str(script)]


def call(environment, path, body=None):
    headers = {"X-API-Key": environment["GANCHO_API_KEY"], "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(environment["GANCHO_URL"] + path, content, headers)))


def publish(environment):
    [curl] = [block for block in blocks("sh") if "$GANCHO_URL" in block and "/v1/events" in block]
    samples = [program("python", blocks("python")[0]), program("ts", blocks("ts")[0])]
    for command in (["bash", "-ec", curl], *samples):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def verify(secret):
    headers, body = arrived.get(timeout=30)
    for language in ("python", "ts"):
        code = blocks(language)[1]
        subprocess.run(program(language, code, secret=secret, headers=headers, body=body), check=True)
        other = program(language, code, secret=secret, headers=headers, body=body + " ")
        done = subprocess.run(other, capture_output=True, text=True)
        assert done.returncode != 0 and "SignatureError" in done.stderr, f"{language}: another body is accepted"


def main():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        dev = subprocess.Popen(
            [gancho, "dev", "--port", "0"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        try:
            for line in dev.stdout:
                if found := re.search(r"GANCHO_URL=(\S+)", line):
                    break
            key = (pathlib.Path(folder) / ".gancho-dev/dev.key").read_text().strip()
            environment = {**os.environ, "GANCHO_URL": found[1], "GANCHO_API_KEY": key}
            webhook = call(
                environment, "/v1/webhooks", {"url": f"http://127.0.0.1:{receiver.server_port}/", "events": ["invoice.paid"]}
            )
            publish(environment)
            end = time.monotonic() + 30
            query = f"/v1/deliveries?event_type=invoice.paid&status=delivered&webhook_id={webhook['id']}"
            while len(call(environment, query)["data"]) < 3:
                assert time.monotonic() < end, "not all events arrived"
                time.sleep(0.1)
            verify(webhook["secret"])
        finally:
            dev.send_signal(signal.SIGTERM)
            dev.wait(30)
    print("README.md: published in 3 ways, verified in 2")


main()
