// Receives webhooks of Gancho in the profile `email-gateway`: verified, each processed once, and applied in order.
//
//     WEBHOOK_SECRET=… npm start
//
// Events of an e-mail (`outboxId`) are numbered from 1 (`sequenceNumber`) and may arrive in any order. Each is stored, and
// applied when all before it have been. What is missing for longer than MAX_WAIT seconds is passed over.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import Database from "libsql";

const MAX_BODY_BYTES = 1024 * 1024;
const secret = process.env.WEBHOOK_SECRET;
const maxWaitMs = Number(process.env.MAX_WAIT ?? 3600) * 1000;
if (!secret) {
  console.error("error: WEBHOOK_SECRET is not set\n  hint: `gancho endpoints secret wh_…` prints it");
  process.exit(1);
}

const db = new Database(process.env.DATABASE ?? "consumer.db");
db.exec(`
  PRAGMA journal_mode = WAL;
  -- What was answered with 200 must survive a power failure.
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS events (
    event_id TEXT PRIMARY KEY,
    outbox_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    is_waiting INTEGER NOT NULL DEFAULT 1,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS waiting_events ON events (outbox_id, number) WHERE is_waiting = 1;
  CREATE TABLE IF NOT EXISTS emails (
    outbox_id TEXT PRIMARY KEY,
    external_id TEXT,
    status TEXT NOT NULL DEFAULT 'UNKNOWN',
    last_number INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  -- What an operator of this application reads: one line for each event, in the order in which they were applied.
  CREATE TABLE IF NOT EXISTS history (outbox_id TEXT NOT NULL, number INTEGER NOT NULL, line TEXT NOT NULL) STRICT;
`);

const statements = {
  store: db.prepare(
    "INSERT INTO events (event_id, outbox_id, number, received_at, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  ),
  addEmail: db.prepare("INSERT INTO emails (outbox_id, external_id) VALUES (?, ?) ON CONFLICT DO NOTHING"),
  email: db.prepare("SELECT last_number FROM emails WHERE outbox_id = ?"),
  next: db.prepare(
    "SELECT event_id, number, received_at, body FROM events WHERE outbox_id = ? AND is_waiting = 1 ORDER BY number LIMIT 1",
  ),
  applied: db.prepare("UPDATE events SET is_waiting = 0 WHERE event_id = ?"),
  setStatus: db.prepare("UPDATE emails SET status = ?, last_number = ? WHERE outbox_id = ?"),
  note: db.prepare("INSERT INTO history (outbox_id, number, line) VALUES (?, ?, ?)"),
  overdue: db.prepare("SELECT DISTINCT outbox_id FROM events WHERE is_waiting = 1 AND received_at <= ?"),
  prune: db.prepare("DELETE FROM events WHERE is_waiting = 0 AND received_at < ?"),
};

// The note that an event was received and what follows from it are one transaction: after a crash either both are there,
// or neither, and the gateway sends it again.
const receive = db.transaction((event, body) => {
  const { outboxId, externalId = null } = event.data;
  const stored = statements.store.run(event.eventId, outboxId, event.sequenceNumber, Date.now(), body);
  if (stored.changes === 0) return "duplicate";
  statements.addEmail.run(outboxId, externalId);
  return applyInOrder(outboxId) > 0 ? "processed" : "waiting";
});

// Applies what is next, and what was waiting for it.
function applyInOrder(outboxId) {
  let count = 0;
  for (;;) {
    const next = statements.next.get(outboxId);
    if (!next) return count;
    const { last_number: last } = statements.email.get(outboxId);
    const isGapTooOld = next.received_at <= Date.now() - maxWaitMs;
    if (next.number > last + 1 && !isGapTooOld) return count;
    apply(outboxId, last, JSON.parse(next.body));
    statements.applied.run(next.event_id);
    count += 1;
  }
}

function apply(outboxId, last, event) {
  const number = event.sequenceNumber;
  if (number <= last) {
    // It was passed over. A later event has set the status already.
    statements.note.run(outboxId, number, `${event.eventType} (late)`);
    return;
  }
  if (number > last + 1) statements.note.run(outboxId, last + 1, "(missing)");
  statements.setStatus.run(event.data.status ?? "UNKNOWN", number, outboxId);
  statements.note.run(outboxId, number, event.eventType);
}

const applyOverdue = db.transaction(() => {
  for (const { outbox_id } of statements.overdue.all(Date.now() - maxWaitMs)) applyInOrder(outbox_id);
});

function isSigned(body, signature) {
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const given = Buffer.from(signature ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function isEvent(event) {
  const isText = (value) => typeof value === "string" && value !== "";
  return isText(event?.eventId) && Number.isInteger(event.sequenceNumber) && isText(event.data?.outboxId);
}

function answer(response, status, outcome) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ outcome }));
}

function handle(request, response, body) {
  // The signature is of these bytes. Parsing and writing them again would change them.
  if (!isSigned(body, request.headers["x-signature"])) return answer(response, 401, "invalid signature");
  try {
    const event = JSON.parse(body);
    // The id in the body is signed; the one in the header X-Event-Id is not.
    if (!isEvent(event)) return answer(response, 422, "not an event of an e-mail");
    const outcome = receive.immediate(event, body.toString());
    console.log(event.eventId, event.eventType, event.sequenceNumber, outcome);
    // A duplicate is a success: anything but 2xx would have it sent again.
    return answer(response, 200, outcome);
  } catch (error) {
    console.error(error);
    return answer(response, 500, "try again later"); // The gateway retries.
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) request.destroy();
    else chunks.push(chunk);
  });
  request.on("end", () => handle(request, response, Buffer.concat(chunks)));
  request.on("error", () => {});
});
server.requestTimeout = 30_000;
server.listen(Number(process.env.PORT ?? 8802), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

setInterval(() => applyOverdue.immediate(), Math.min(maxWaitMs, 10_000)).unref();
// Longer than the gateway may send an event again: its retries last for days, and its retention is 30 days.
setInterval(() => statements.prune.run(Date.now() - 60 * 24 * 3600 * 1000), 3600 * 1000).unref();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.close(() => process.exit(0)));
