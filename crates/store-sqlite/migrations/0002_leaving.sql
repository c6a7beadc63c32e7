-- Dead letters leave when their time is over.
CREATE INDEX dead_letters_by_expiry ON dead_letters (expires_at);

-- A span is now of one lane, so that a list of one lane does not read another's deliveries: see
-- spans.rs.
DROP TABLE spans;
CREATE TABLE spans (
  tenant_id BLOB NOT NULL,
  target_id BLOB NOT NULL,
  lane      INTEGER NOT NULL,
  span      INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, target_id, lane, span)
) STRICT, WITHOUT ROWID;
INSERT INTO spans SELECT DISTINCT tenant_id, target_id, lane, seq >> 22 FROM deliveries;
CREATE INDEX spans_by_time ON spans (span);
