-- Replays, reports on e-mails and suppressed addresses have tables of their own. They were kept among the
-- records, and are brought along.

-- Zero bytes stand for the operator.
CREATE TABLE replays (
  id          BLOB PRIMARY KEY,
  tenant_id   BLOB NOT NULL,
  state       TEXT NOT NULL,
  request     BLOB NOT NULL,
  total       INTEGER NOT NULL,
  is_exact    INTEGER NOT NULL,
  done        INTEGER NOT NULL,
  skipped     INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  error       TEXT,
  cursor      TEXT NOT NULL,
  runner      TEXT,    -- stays when a replay is canceled: it may still tell what it has sent
  lease_until INTEGER,
  created_at  INTEGER NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_of_owner ON replays (tenant_id, id);
CREATE INDEX replays_open ON replays (id) WHERE state IN ('pending', 'running');

CREATE TABLE email_reports (
  tenant_id      BLOB NOT NULL,
  email_id       BLOB NOT NULL,
  delivery       INTEGER, -- the row of its delivery
  delivery_id    BLOB,
  code           TEXT NOT NULL,
  reason         TEXT NOT NULL,
  error          TEXT,
  is_provisional INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  until          INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, email_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX email_reports_by_delivery ON email_reports (tenant_id, delivery) WHERE delivery IS NOT NULL;
CREATE INDEX email_reports_by_end ON email_reports (until);

CREATE TABLE suppressions (
  tenant_id BLOB NOT NULL,
  address   TEXT NOT NULL,
  reason    TEXT NOT NULL,
  detail    TEXT,
  since     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, address)
) STRICT, WITHOUT ROWID;

INSERT INTO suppressions
  SELECT tenant_id, key, body ->> 'reason', body ->> 'detail', body ->> 'since'
  FROM (SELECT tenant_id, key, CAST(body AS TEXT) AS body FROM records WHERE kind = 'suppression');

-- Ids were kept as text: four characters that name their kind, and 26 of five bits each, of which the first
-- two bits are zero. They are turned into bits, and the bits into bytes.
CREATE TEMP TABLE places AS
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 32) SELECT i FROM n;
CREATE TEMP TABLE old_bits AS
  SELECT text, (
    SELECT group_concat(
      (v >> 4 & 1) || (v >> 3 & 1) || (v >> 2 & 1) || (v >> 1 & 1) || (v & 1), '' ORDER BY i)
    FROM (SELECT i, instr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(text, 4 + i, 1)) - 1 AS v
          FROM places WHERE i <= 26)) AS bits
  FROM (SELECT CAST(body AS TEXT) ->> 'id' AS text FROM records WHERE kind = 'replay'
        UNION SELECT key FROM records WHERE kind = 'email_feedback');
CREATE TEMP TABLE old_ids AS
  SELECT text, unhex((
    SELECT group_concat(
      substr('0123456789abcdef', 1 + 8 * substr(bits, 4 * i - 1, 1) + 4 * substr(bits, 4 * i, 1)
        + 2 * substr(bits, 4 * i + 1, 1) + substr(bits, 4 * i + 2, 1), 1), '' ORDER BY i)
    FROM places)) AS id
  FROM old_bits;

INSERT INTO replays
  SELECT o.id, r.tenant_id, r.body ->> 'state',
    CAST(json_object('filter', json(r.body -> 'filter'), 'to', r.body ->> 'to',
      'rate', r.body ->> 'rate', 'oldest_first', json(coalesce(r.body -> 'oldest_first', 'false'))) AS BLOB),
    r.body ->> 'total', r.body ->> 'is_total_exact', r.body ->> 'done', r.body ->> 'skipped',
    r.body ->> 'failed', r.body ->> 'error', r.body -> 'cursor', r.body ->> '$.lease.by',
    r.body ->> '$.lease.until', r.body ->> 'created_at', r.body ->> 'started_at', r.body ->> 'finished_at'
  FROM (SELECT tenant_id, CAST(body AS TEXT) AS body FROM records WHERE kind = 'replay') r
  JOIN old_ids o ON o.text = r.body ->> 'id';

-- Deliveries were kept as their ids turned round, in hexadecimal, so that the newest came first. A row's number
-- is the first 63 bits of its id.
CREATE TEMP TABLE old_deliveries AS
  SELECT tenant_id, CAST(body AS TEXT) AS email,
    unhex((SELECT group_concat(substr('fedcba9876543210', instr('0123456789abcdef', substr(key, i, 1)), 1),
      '' ORDER BY i) FROM places)) AS id,
    (SELECT sum((15 - (instr('0123456789abcdef', substr(key, i, 1)) - 1)) << (64 - 4 * i)) >> 1
     FROM places WHERE i <= 16) AS seq
  FROM records WHERE kind = 'email_feedback_order';

INSERT INTO email_reports
  SELECT r.tenant_id, o.id, d.seq, d.id, r.body ->> 'code', r.body ->> 'reason', r.body ->> 'error',
    r.body ->> 'code' = 'BOUNCE_TEMPORARY', r.body ->> 'at', coalesce(r.until, r.body ->> 'at')
  FROM (SELECT tenant_id, key, CAST(body AS TEXT) AS body, until FROM records
        WHERE kind = 'email_feedback') r
  JOIN old_ids o ON o.text = r.key
  LEFT JOIN old_deliveries d ON d.tenant_id = r.tenant_id AND d.email = r.key;

DELETE FROM records WHERE kind IN
  ('replay', 'replay_open', 'email_feedback', 'email_feedback_order', 'suppression');
DROP TABLE temp.places;
DROP TABLE temp.old_bits;
DROP TABLE temp.old_ids;
DROP TABLE temp.old_deliveries;
