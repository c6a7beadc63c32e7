-- The core: tenants and their endpoints, what was accepted, what is to be brought where, and what
-- became of it. Keys lead with the tenant. Times are microseconds since 1970; ids are 16 bytes.
--
-- `seq` is the first 63 bits of the id (see `lead` in the domain): rows are appended in order of
-- time, an id is found without an index of its own, and indexes end with it by themselves.

CREATE TABLE tenants (
  id                  BLOB NOT NULL PRIMARY KEY,
  slug                TEXT NOT NULL UNIQUE,
  name                TEXT NOT NULL,
  plan                TEXT NOT NULL,
  default_profile     TEXT NOT NULL,
  strict_event_types  INTEGER NOT NULL,
  publish_rate_count  INTEGER,
  publish_rate_per_us INTEGER,
  created_at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE endpoints (
  tenant_id      BLOB NOT NULL,
  id             BLOB NOT NULL,
  name           TEXT NOT NULL,
  url            TEXT NOT NULL,
  events         TEXT NOT NULL, -- patterns, one a line
  sealed_secret  BLOB NOT NULL,
  profile        TEXT NOT NULL,
  is_active      INTEGER NOT NULL,
  in_order       INTEGER NOT NULL,
  plan           TEXT,          -- see plan_text.rs of the contract
  timeout_us     INTEGER,
  max_in_flight  INTEGER,
  rate_count     INTEGER,
  rate_per_us    INTEGER,
  created_at     INTEGER NOT NULL,
  old_secrets    TEXT NOT NULL, -- see old_secret_text.rs of the contract
  sealed_headers BLOB,
  metadata       TEXT NOT NULL,
  failing_since  INTEGER,
  warned_at      INTEGER,
  disabled       INTEGER,       -- 1 gone, 2 failing
  updated_at     INTEGER NOT NULL,
  version        INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE parcels (
  seq         INTEGER PRIMARY KEY,
  tenant_id   BLOB NOT NULL,
  id          BLOB NOT NULL,
  kind        INTEGER NOT NULL,
  event_type  TEXT NOT NULL,
  subject     TEXT,
  external_id TEXT,
  number      INTEGER,
  is_test     INTEGER NOT NULL,
  deliveries  TEXT NOT NULL, -- their row numbers, a JSON array: spares each an index by parcel
  created_at  INTEGER NOT NULL,
  -- It matched no endpoint when it was accepted, and was sent to some later.
  sent_later  INTEGER NOT NULL DEFAULT 0,
  body        BLOB NOT NULL
) STRICT;
-- An event with deliveries is found through the first of them; one that matched no endpoint, through
-- this, and it stays here when it is sent to some later, so that it keeps its place in a list.
CREATE INDEX parcels_unmatched ON parcels (tenant_id) WHERE deliveries = '[]' OR sent_later;
CREATE INDEX parcels_by_external_id ON parcels (tenant_id, external_id) WHERE external_id IS NOT NULL;

-- A row keeps its size when it is settled, so that it is overwritten in place: no state is 0 or 1,
-- and `owner` is left as it was.
CREATE TABLE deliveries (
  seq             INTEGER PRIMARY KEY,
  tenant_id       BLOB NOT NULL,
  id              BLOB NOT NULL,
  lane            INTEGER NOT NULL,
  target_id       BLOB NOT NULL,
  parcel          INTEGER NOT NULL,
  subject         TEXT,             -- only where it is kept in order
  number          INTEGER,          -- likewise: its parcel's number, which says whose turn it is
  state           INTEGER NOT NULL, -- 2 pending, 3 leased, 4 waiting, 5 delivered, 6 dead
  attempts        INTEGER NOT NULL,
  attempts_before INTEGER NOT NULL,
  lost_leases     INTEGER NOT NULL,
  due_at          INTEGER NOT NULL,
  owner           INTEGER NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_failed ON deliveries (tenant_id, target_id) WHERE state = 6;
CREATE INDEX deliveries_pending ON deliveries (lane, tenant_id, target_id, due_at) WHERE state = 2;
CREATE INDEX deliveries_due ON deliveries (lane, due_at) WHERE state = 2;
CREATE INDEX deliveries_leased ON deliveries (owner) WHERE state = 3;
CREATE INDEX deliveries_in_order ON deliveries (tenant_id, target_id, subject, number)
  WHERE subject IS NOT NULL AND state < 5;

-- In which spans of time a target got deliveries: see spans.rs.
CREATE TABLE spans (
  tenant_id BLOB NOT NULL,
  target_id BLOB NOT NULL,
  span      INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, target_id, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX spans_by_time ON spans (span);

CREATE TABLE attempts (
  delivery         INTEGER NOT NULL,
  number           INTEGER NOT NULL,
  started_at       INTEGER NOT NULL,
  latency_us       INTEGER NOT NULL,
  request_headers  BLOB NOT NULL,
  response_status  INTEGER,
  response_headers BLOB NOT NULL,
  response_body    BLOB NOT NULL,
  code             TEXT,
  reason           TEXT,
  next_at          INTEGER,
  PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letters (
  delivery        INTEGER PRIMARY KEY,
  tenant_id       BLOB NOT NULL,
  lane            INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL,
  code            TEXT NOT NULL,
  reason          TEXT NOT NULL CHECK (reason <> ''),
  failed_at       INTEGER NOT NULL,
  moved_at        INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_letters_of_tenant ON dead_letters (tenant_id, moved_at);
CREATE INDEX dead_letters_by_time ON dead_letters (moved_at);

CREATE TABLE subjects (
  tenant_id BLOB NOT NULL,
  subject   TEXT NOT NULL,
  last      INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE once_keys (
  tenant_id BLOB NOT NULL,
  key       BLOB NOT NULL,
  content   BLOB NOT NULL,
  parcel_id BLOB NOT NULL,
  until     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_keys_by_time ON once_keys (until);

CREATE TABLE nodes (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  name    TEXT NOT NULL,
  beat_at INTEGER NOT NULL,
  is_dead INTEGER NOT NULL
) STRICT;

CREATE TABLE pauses (
  lane      INTEGER NOT NULL, -- 0 where it is not a lane that is paused
  tenant_id BLOB NOT NULL,    -- empty likewise
  target_id BLOB NOT NULL,
  since     INTEGER NOT NULL,
  PRIMARY KEY (lane, tenant_id, target_id)
) STRICT, WITHOUT ROWID;

-- Found by shelf, by kind alone, and by key alone where keys are made to be unique.
CREATE TABLE records (
  kind      TEXT NOT NULL,
  tenant_id BLOB NOT NULL, -- empty on the operator's shelves
  key       TEXT NOT NULL,
  body      BLOB NOT NULL,
  version   INTEGER NOT NULL,
  PRIMARY KEY (kind, tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_by_key ON records (kind, key);

CREATE TABLE usage (
  tenant_id BLOB NOT NULL,
  period    TEXT NOT NULL,
  used      INTEGER NOT NULL,
  granted   INTEGER NOT NULL, -- of the last that was asked for: here to be returned by the statement
  PRIMARY KEY (tenant_id, period)
) STRICT, WITHOUT ROWID;

-- What was received, each line linked to the one before. Outlives the parcels it speaks of.
CREATE TABLE ledger (
  number INTEGER PRIMARY KEY,
  parcel INTEGER NOT NULL UNIQUE,
  entry  BLOB NOT NULL,
  link   BLOB NOT NULL
) STRICT;
CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON ledger
BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_not_cut BEFORE DELETE ON ledger
BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END;
