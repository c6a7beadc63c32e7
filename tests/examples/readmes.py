"""Runs the commands of the documents in examples/ (README.md of each), and compares what they print with what is shown.

usage: readmes.py GANCHO POSTGRES_URL CONSUMER_PYTHON NODE_MODULES SQL_PYTHON SQL_NODE_MODULES

What they install is installed already: a PYTHON has the packages, and NODE_MODULES are those of the package.json. Ports, and the
database, are others.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from gateway import Gateway, wait_for
from sql import psql

ROOT = pathlib.Path(__file__).parents[2]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def blocks(document, *languages):
    found = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S)
    return [text for language, text in found if language in languages]


def plain(text):
    return re.sub(r"\b([a-z]+)_[0-9A-Z]{26}\b", r"\1_ID", text)


class Reader:
    """Someone in a copy of an example's folder."""

    def __init__(self, name, folder, gancho, python=None, modules=None):
        self.folder = pathlib.Path(folder, name)
        shutil.copytree(ROOT / "examples" / name, self.folder, ignore=shutil.ignore_patterns("node_modules", ".venv", "*.db"))
        path = [os.path.dirname(os.path.abspath(gancho)), os.environ["PATH"]]
        if python:
            path.insert(0, os.path.dirname(python))
            (self.folder / ".venv").symlink_to(pathlib.Path(python).parents[1])
        if modules:
            # A copy: npm replaces a link.
            shutil.copytree(pathlib.Path(modules, "node_modules"), self.folder / "node_modules", symlinks=True)
        offline = {"npm_config_offline": "true", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.environment = {"PATH": ":".join(path), "HOME": str(self.folder), **offline}

    def start(self, commands, log):
        with open(self.folder / log, "w") as out:
            return subprocess.Popen(["bash", "-ec", commands], cwd=self.folder, env=self.environment, stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self, commands):
        ran = subprocess.run(["timeout", "60", "bash", "-euo", "pipefail", "-c", commands], cwd=self.folder, text=True,
                             env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert ran.returncode == 0, f"{commands}\n{ran.stdout}"
        return plain(ran.stdout)

    def log(self, name):
        return (self.folder / name).read_text()


def consumer(reader, name, port):
    start, run = blocks(f"examples/{name}/README.md", "sh")
    listens, shown = blocks(f"examples/{name}/README.md", "text")
    dev = reader.start("exec gancho dev --port 0", "dev.log")
    running = [dev]
    try:
        api = wait_for("gancho dev starts", lambda: re.search(r"GANCHO_URL=\S+:(\d+)", reader.log("dev.log")))[1]
        other = free_port()
        reader.environment["PORT"] = str(other)

        def here(text):
            return text.replace("127.0.0.1:3000", f"127.0.0.1:{api}").replace(f"127.0.0.1:{port}", f"127.0.0.1:{other}")

        running.append(reader.start(here(start), "consumer.log"))
        wait_for(f"{listens}: {reader.log('consumer.log')}", lambda: here(listens) in reader.log("consumer.log"))
        printed = reader.run(here(run))
        assert printed == plain(shown), f"{name} shows\n{shown}and prints\n{printed}"
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def sql(reader, name, database, admin, role):
    document = f"examples/{name}/README.md"
    setup = [*blocks("docs/publish-from-sql.md", "sql")[1:], *blocks(document, "sql")]
    psql(admin, "drop table if exists orders;" + "".join(setup).replace(" to app;", f" to {role};"))
    named = "DATABASE=postgres://app@localhost/shop\n"
    first, second = blocks(document, "sh")
    install, rest = first.split("\n", 1)
    assert named in rest, rest
    reader.run(install)
    reader.environment["DATABASE"] = database
    printed = [reader.run(commands.replace(f"export {named}", "")) for commands in (rest, second)]
    assert printed == [plain(text) for text in blocks(document, "text")], printed


def main():
    gancho, server, python, modules, sql_python, sql_modules = sys.argv[1:]
    base, _, parameters = server.partition("?")
    head = base.rpartition("/")[0]
    address = head.partition("://")[2].rpartition("@")[2]
    with tempfile.TemporaryDirectory() as folder:
        for name, port, tools in (("python", 8801, {"python": python}), ("node", 8802, {"modules": modules})):
            consumer(Reader(name, folder, gancho, **tools), name, port)
            print(f"examples/{name}/README.md: its commands print what it shows")
        for name, tools in (("sql-python", {"python": sql_python}), ("sql-node", {"modules": sql_modules})):
            # A database each: both use the same names and orders.
            role = f"gancho_{name.replace('-', '_')}_{os.getpid()}"
            admin = f"{head}/{role}?{parameters}"
            psql(server, f"create database {role}")
            try:
                with Gateway(gancho, GANCHO_DATABASE_URL=admin) as gateway:
                    gateway.call("/v1/tenants", {"slug": "acme"}, tenant=None)
                    psql(admin, f"create role {role} login")
                    database = f"postgres://{role}@{address}/{role}?{parameters}"
                    sql(Reader(name, folder, gancho, **tools), name, database, admin, role)
                    print(f"examples/{name}/README.md: its commands print what it shows")
            finally:
                psql(server, f"drop database {role} with (force)")
                psql(server, f"drop role if exists {role}")


main()
