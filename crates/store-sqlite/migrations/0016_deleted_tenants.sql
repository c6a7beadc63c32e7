-- Tenants whose things are being removed.
CREATE TABLE deleted_tenants (
  tenant_id  BLOB NOT NULL PRIMARY KEY,
  slug       TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  is_erased  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
