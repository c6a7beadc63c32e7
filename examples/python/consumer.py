"""Receives webhooks of Gancho: verified, each processed once, and correct in whatever order they arrive.

    WEBHOOK_SECRET=whsec_… python3 consumer.py

Events of the type `order.…` carry the whole order with a version that grows with each change, so the newest version wins.
`order.paid` also adds to the balance of the customer, which must not happen twice.
"""

import http.server
import json
import os
import sqlite3
import sys

from standardwebhooks import Webhook, WebhookVerificationError

MAX_BODY_BYTES = 1024 * 1024

SCHEMA = """
CREATE TABLE IF NOT EXISTS webhooks_received (
    id TEXT PRIMARY KEY,
    received_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, version INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS balances (customer TEXT PRIMARY KEY, cents INTEGER NOT NULL) STRICT;
-- Longer than the gateway may send an event again: its retries last for days, and its retention is 30 days.
DELETE FROM webhooks_received WHERE received_at < datetime('now', '-60 days');
"""


class InvalidEvent(Exception):
    pass


def connect(path):
    # Transactions are begun by hand. A connection for each request: threads do not share one.
    database = sqlite3.connect(path, isolation_level=None, timeout=10)
    database.execute("PRAGMA journal_mode = WAL")
    # What was answered with 200 must survive a power failure.
    database.execute("PRAGMA synchronous = FULL")
    return database


def process(database, webhook_id, event):
    """Applies an event once, and says whether it was new.

    The note that it was received and what follows from it are one transaction: after a crash either both are there, or
    neither, and the gateway sends it again.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        noted = database.execute("INSERT INTO webhooks_received (id) VALUES (?) ON CONFLICT DO NOTHING", [webhook_id])
        is_new = noted.rowcount == 1
        if is_new:
            apply(database, event)
        database.execute("COMMIT")
        return is_new
    except BaseException:
        database.execute("ROLLBACK")
        raise


def apply(database, event):
    if not event["type"].startswith("order."):
        return  # A type that this program does not know is no error.
    try:
        order = event["data"]
        row = [str(order["id"]), int(order["version"]), str(order["status"])]
        paid = [str(order["customer"]), int(order["cents"])] if event["type"] == "order.paid" else None
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidEvent(f"not an order: {error!r}") from error
    # An older version that arrives late changes nothing.
    database.execute(
        "INSERT INTO orders (id, version, status) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET version = excluded.version, status = excluded.status WHERE excluded.version > orders.version",
        row,
    )
    if paid:
        database.execute(
            "INSERT INTO balances (customer, cents) VALUES (?, ?) ON CONFLICT (customer) DO UPDATE"
            " SET cents = cents + excluded.cents",
            paid,
        )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    webhook = None
    database = None

    def do_POST(self):
        try:
            length = int(self.headers["content-length"])
        except (TypeError, ValueError):
            return self.answer(411, "Content-Length is missing")
        if length > MAX_BODY_BYTES:
            return self.answer(413, "too large")
        # The signature is of these bytes. Parsing and writing them again would change them.
        body = self.rfile.read(length)
        try:
            event = self.webhook.verify(body, dict(self.headers.items()))
        except (WebhookVerificationError, ValueError):
            return self.answer(401, "invalid signature")
        try:
            database = connect(self.database)
            try:
                is_new = process(database, self.headers["webhook-id"], event)
            finally:
                database.close()
        except InvalidEvent as error:
            return self.answer(422, str(error))
        except sqlite3.Error as error:
            print(f"error: {error}", file=sys.stderr)
            return self.answer(500, "try again later")  # The gateway retries.
        # A duplicate is a success: anything but 2xx would have it sent again.
        self.answer(200, "processed" if is_new else "duplicate")

    def answer(self, status, outcome):
        body = json.dumps({"outcome": outcome}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if status in (411, 413):
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *values):
        print(self.headers.get("webhook-id", "-"), format % values, flush=True)


def main():
    secret = os.environ.get("WEBHOOK_SECRET")
    if not secret:
        sys.exit("error: WEBHOOK_SECRET is not set\n  hint: `gancho endpoints secret wh_…` prints it")
    Handler.webhook = Webhook(secret)
    Handler.database = os.environ.get("DATABASE", "consumer.db")
    connect(Handler.database).executescript(SCHEMA)
    address = ("127.0.0.1", int(os.environ.get("PORT", "8801")))
    server = http.server.ThreadingHTTPServer(address, Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
