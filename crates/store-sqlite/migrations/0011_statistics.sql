-- What happened to deliveries: per minute (a row for each node that counted), hour and day. `chunk` is the hour
-- or day that a row is rolled up and pruned with. Zeros stand for no tenant and no target. Times in seconds.
CREATE TABLE statistics (
  level     INTEGER NOT NULL,
  chunk     INTEGER NOT NULL,
  tenant_id BLOB NOT NULL,
  target_id BLOB NOT NULL,
  lane      INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  part      INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  figures   BLOB NOT NULL,
  PRIMARY KEY (level, chunk, tenant_id, target_id, lane, at, node, part)
) STRICT, WITHOUT ROWID;

-- Which targets fail: minutes of targets only, and only those with failed attempts.
CREATE INDEX statistics_failing ON statistics (lane, at, failed DESC)
  WHERE level = 2 AND failed > 0;
CREATE INDEX statistics_failing_of_tenant ON statistics (tenant_id, lane, at, failed DESC)
  WHERE level = 2 AND failed > 0;

-- Chunks with rows that are not rolled up yet.
CREATE TABLE statistics_due (
  level   INTEGER NOT NULL,
  chunk   INTEGER NOT NULL,
  version INTEGER NOT NULL,
  place   BLOB,
  PRIMARY KEY (level, chunk)
) STRICT, WITHOUT ROWID;
