"""Runs the samples of README.md: three ways to publish against `gancho dev`, and two to verify.

Takes the gancho binary and the folder with the Node.js packages; reads the output of `sign_samples`.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

gancho, modules = sys.argv[1], pathlib.Path(sys.argv[2])
readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)


def node(code, **variables):
    script = modules / "readme.mjs"
    lines = [f"const {name} = {json.dumps(value)};" for name, value in variables.items()]
    # Imports come first wherever they stand.
    script.write_text("\n".join(lines) + "\n" + code)
    return ["node", str(script)]


def publish(environment):
    [curl] = [block for block in blocks("sh") if "$GANCHO_URL" in block and "/v1/events" in block]
    python, typescript = blocks("python")[0], blocks("ts")[0]
    for command in (["bash", "-ec", curl], [sys.executable, "-c", python], node(typescript)):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def delivered(environment):
    request = urllib.request.Request(
        environment["GANCHO_URL"] + "/v1/deliveries?event_type=invoice.paid&status=delivered",
        headers={"X-API-Key": environment["GANCHO_API_KEY"]},
    )
    return len(json.load(urllib.request.urlopen(request))["data"])


def verify(sample):
    secret, headers, body = sample["keys"][0]["secret"], sample["headers"], sample["body"]
    python, typescript = blocks("python")[1], blocks("ts")[1]
    exec(python, {"secret": secret, "headers": headers, "body": body})
    subprocess.run(node(typescript, secret=secret, headers=headers, body=body), check=True)
    other = subprocess.run(
        node(typescript, secret=secret, headers=headers, body=body + " "), capture_output=True
    )
    assert other.returncode != 0, "another body is accepted"


def main():
    samples = [json.loads(line) for line in sys.stdin]
    verify(next(s for s in samples if s["profile"] == "standard" and s["keys"][0]["secret"].startswith("whsec_")))
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
            publish(environment)
            end = time.monotonic() + 30
            while delivered(environment) < 3:
                assert time.monotonic() < end, "not all events arrived"
                time.sleep(0.1)
        finally:
            dev.send_signal(signal.SIGTERM)
            dev.wait(30)
    print("README.md: published in 3 ways, verified in 2")


main()
