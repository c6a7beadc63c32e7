"""Follows README.md as a newcomer does: in a clean clone, the commands in their order, as they stand there. What is
shared is the build: `cargo run --release --` is the program that the tests have built.

usage: readme.py GANCHO PACKAGES
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

gancho, packages = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
root = pathlib.Path(__file__).parents[2]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(what, condition):
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end, f"not within 60 seconds: {what}"
        time.sleep(0.05)
    return found


class Program:
    """A command that runs until it is stopped."""

    def __init__(self, command, folder, environment):
        self.log = folder / "readme.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["bash", "-ec", f"exec {command}"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)

    def says(self, pattern):
        def look():
            assert self.process.poll() is None, self.log.read_text()
            return re.search(pattern, self.log.read_text())
        return until(f"{pattern} in {self.log}", look)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log.read_text()
        self.log.unlink()


def run(command, folder, environment):
    ran = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, text=True,
                         capture_output=True, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def try_it(command, clone, environment):
    """The first command, and those that its screen shows."""
    assert command == "cargo run --release -- dev\n", command
    dev = Program(f"{gancho} dev --port 0", clone, environment)
    dev.says("first delivery")
    dev.says("deliveries list\n")
    commands = dev.log.read_text().split("in the same directory:")[1].split("deliveries list")[0] + "deliveries list"
    assert "invoice.paid" in run(commands, clone, environment)
    exports = dict(re.findall(r"export (\w+)=(\S+)\n", commands))
    key = (clone / ".gancho-dev/dev.key").read_text().strip()
    return dev, {**environment, "GANCHO_URL": exports["GANCHO_URL"], "GANCHO_API_KEY": key}


def follow(clone):
    readme = (clone / "README.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", readme, re.M | re.S)
    environment = {"PATH": f"{os.path.dirname(gancho)}:{os.environ['PATH']}", "HOME": str(clone.parent)}
    first, publish, serve, create, check = blocks

    dev, with_key = try_it(first, clone, environment)
    assert json.loads(run(publish, clone, with_key))["deliveries"] == 1
    dev.stop()
    assert {path.name for path in clone.iterdir() if path.name.startswith(".gancho")} == {".gancho-dev"}

    # Where a package puts its data is the system's: here it is a folder, and the ports are free ones.
    data, port = clone.parent / "data", free_port()
    elsewhere = {**environment, "GANCHO_API_LISTEN": f"127.0.0.1:{port}", "GANCHO_INGEST_LISTEN": "127.0.0.1:0"}
    assert "/var/lib/gancho" in serve and "/var/lib/gancho" in create
    command = serve.strip().replace("/var/lib/gancho", str(data))
    server = Program(f"env {command}", clone.parent, elsewhere)
    server.says("ready|listening|started|running")
    create = create.replace("/var/lib/gancho", str(data)).replace("sudo ", "").replace(":3000", f":{port}")
    until("the API answers", lambda: subprocess.run(
        ["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{port}/readyz"]).returncode == 0)
    assert json.loads(run("curl -s --fail-with-body" + create.removeprefix("curl"), clone.parent, elsewhere))["slug"] == "acme"
    server.stop()

    assert check == "./test\n", check
    run("./test --list", clone, environment)
    return readme


def installs(readme):
    """The files that the table names are those that were made."""
    names = set(re.findall(r"gancho[-_][\w.…-]+\.(?:deb|whl|tgz|tar\.gz)", readme.split("## Install")[1].split("## Use it")[0]))
    machine = {"aarch64": {"amd64": "arm64", "x64": "arm64", "x86_64": "aarch64"}}.get(os.uname().machine, {})
    made = {path.name for path in packages.iterdir()}
    assert len(names) == 5, names
    for name in names:
        pattern = re.escape(name).replace("…", ".*")
        for usual, here in machine.items():
            pattern = pattern.replace(usual, here)
        assert any(re.fullmatch(pattern, one) for one in made), f"README names {name}; there are {sorted(made)}"


with tempfile.TemporaryDirectory() as folder:
    clone = pathlib.Path(folder) / "gancho"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{root}", str(clone)], check=True)
    # What is not committed yet is tested, too.
    (clone / "README.md").write_text((root / "README.md").read_text())
    readme = follow(clone)
installs(readme)
print("README.md: its commands work in a clean clone, and its packages are those that are made")
