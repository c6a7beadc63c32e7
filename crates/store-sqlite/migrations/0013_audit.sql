-- Who changed what, or tried to. The time of an entry is that of its id. `until` is when it goes.
CREATE TABLE audit_log (
  id         BLOB NOT NULL PRIMARY KEY,
  tenant_id  BLOB,
  actor_kind TEXT NOT NULL,
  actor      TEXT NOT NULL,
  operation  TEXT NOT NULL,
  resource   TEXT NOT NULL,
  status     INTEGER NOT NULL,
  code       TEXT NOT NULL,
  request_id TEXT NOT NULL,
  address    TEXT NOT NULL,
  until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_log_of_tenant ON audit_log (tenant_id, id);
CREATE INDEX audit_log_by_end ON audit_log (until);
