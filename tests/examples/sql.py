"""Runs the examples that publish from SQL, with a real gateway on a real PostgreSQL.

usage: sql.py GANCHO POSTGRES_URL PYTHON ORDERS.py ORDERS.mjs

Creates a database and a role on the server and removes them. The role has the rights that docs/publish-from-sql.md
grants, and a table of its own.
"""

import os
import subprocess
import sys
import threading
import http.server
import json

from gateway import Gateway, wait_for


class Receiver(http.server.BaseHTTPRequestHandler):
    got = {}

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.got[self.headers["webhook-id"]] = body["data"]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def psql(url, sql):
    command = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url, "-c", sql]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def check(gateway, database, name, command):
    def run(*arguments):
        environment = {**os.environ, "DATABASE": database}
        return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)

    def orders():
        return psql(database, f"select count(*) from orders where id like '{name}-%'")

    placed = run("acme", f"{name}-1", "4200")
    assert placed.returncode == 0, placed.stderr
    event = placed.stdout.strip()
    wait_for(f"{event} is delivered", lambda: event in Receiver.got)
    assert Receiver.got[event] == {"id": f"{name}-1", "total": 4200}, Receiver.got[event]
    shown = gateway.call(f"/v1/events/{event}")
    assert shown["subject"] == f"{name}-1" and len(shown["deliveries"]) == 1, shown
    refused = run("nobody", f"{name}-2", "4200")
    assert refused.returncode == 1 and "refused: unknown_tenant" in refused.stderr, refused
    before = len(gateway.call("/v1/events")["data"])
    undone = run("acme", f"{name}-3", "-1")
    assert undone.returncode == 1 and "rolled back" in undone.stderr, undone
    again = run("acme", f"{name}-4", "1")
    event = again.stdout.strip()
    wait_for(f"{event} is delivered", lambda: event in Receiver.got)
    assert len(gateway.call("/v1/events")["data"]) == before + 1, "an event of a transaction that was rolled back"
    assert orders() == "2", orders()
    print(f"examples/sql-{name}: committed with its order, refused, rolled back")


def main():
    gancho, server, python, orders_py, orders_mjs = sys.argv[1:]
    name = f"gancho_examples_{os.getpid()}"
    base, _, parameters = server.partition("?")
    head, _, _ = base.rpartition("/")
    admin = f"{head}/{name}?{parameters}"
    address = head.partition("://")[2].rpartition("@")[2]
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    psql(server, f"create database {name}")
    try:
        with Gateway(gancho, GANCHO_DATABASE_URL=admin) as gateway:
            psql(admin, f"create role {name} login; grant usage on schema gancho to {name};"
                 f"grant execute on function gancho.publish to {name};"
                 f"create table orders (id text primary key, total bigint not null);"
                 f"grant select, insert on orders to {name}")
            gateway.call("/v1/tenants", {"slug": "acme"}, tenant=None)
            gateway.call("/v1/webhooks", {"url": f"http://127.0.0.1:{receiver.server_port}/", "events": ["*"]})
            database = f"postgres://{name}@{address}/{name}?{parameters}"
            check(gateway, database, "python", [python, orders_py])
            check(gateway, database, "node", ["node", orders_mjs])
    finally:
        psql(server, f"drop database {name} with (force)")
        psql(server, f"drop role if exists {name}")


if __name__ == "__main__":
    main()
