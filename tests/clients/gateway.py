"""Runs a command with a gateway beside it.

usage: gateway.py GANCHO sqlite|postgres COMMAND ...

The command finds it by GANCHO_TEST_URL and GANCHO_TEST_TOKEN (the operator's), and the program, to start another, by
GANCHO_TEST_PROGRAM. On PostgreSQL it has a database of its
own on the server of DATABASE_URL, which is dropped at the end.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit


def sql(statement):
    subprocess.run(["psql", os.environ["DATABASE_URL"], "-qtA", "-c", statement], check=True)


def start(gancho, folder, database_url, token, listen="127.0.0.1:0"):
    variables = {
        "GANCHO_ADMIN_TOKEN": token, "GANCHO_DATA_DIR": folder, "GANCHO_DATABASE_URL": database_url,
        "GANCHO_API_LISTEN": listen, "GANCHO_INGEST_LISTEN": "127.0.0.1:0", "GANCHO_EMAIL_VIA": "sink",
        "GANCHO_ALLOW_HTTP": "true", "GANCHO_ALLOW_CIDRS": "127.0.0.0/8", "GANCHO_LOG_FORMAT": "json",
        "PATH": os.environ["PATH"],
    }
    path = folder + "/log"
    with open(path, "w") as log:
        gateway = subprocess.Popen([gancho, "serve"], stdout=log, stderr=log, env=variables)
    end = time.monotonic() + 60
    while time.monotonic() < end and gateway.poll() is None:
        for line in open(path):
            if '"gancho is ready"' in line:
                return gateway, "http://" + json.loads(line)["api"]
        time.sleep(0.05)
    gateway.kill()
    sys.exit("the gateway did not start: " + open(path).read())


def main():
    gancho, store, *command = sys.argv[1:]
    token = secrets.token_hex(24)
    with tempfile.TemporaryDirectory() as folder:
        database_url, database = f"sqlite:{folder}/gancho.db", None
        if store == "postgres":
            database = f"gancho_clients_{os.getpid()}"
            sql(f"create database {database}")
            database_url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + database).geturl()
        gateway = None
        try:
            gateway, url = start(gancho, folder, database_url, token)
            environment = {
                **os.environ, "GANCHO_TEST_URL": url, "GANCHO_TEST_TOKEN": token,
                "GANCHO_TEST_PROGRAM": os.path.abspath(gancho),
            }
            for name in ("GANCHO_URL", "GANCHO_API_KEY", "GANCHO_TENANT"):
                environment.pop(name, None)
            ended = subprocess.run(command, env=environment).returncode
            if gateway.poll() is not None:
                sys.exit("the gateway did not survive")
            if ended:
                print("the last lines of its log:", *open(folder + "/log").readlines()[-40:], sep="\n", file=sys.stderr)
        finally:
            if gateway is not None and gateway.poll() is None:
                gateway.terminate()
                gateway.wait(60)
            if database:
                sql(f"drop database if exists {database} with (force)")
    sys.exit(ended)


if __name__ == "__main__":
    main()
