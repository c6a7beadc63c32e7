-- Keys that are in no order are written in order of time first, and come from there into their trees:
-- see lately.rs. Of the hashes half is kept, which is enough to tell them apart.
CREATE TABLE once_keys_of_half_the_hash (
  tenant_id BLOB NOT NULL,
  key       BLOB NOT NULL,
  content   BLOB NOT NULL,
  parcel_id BLOB NOT NULL,
  until     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
INSERT INTO once_keys_of_half_the_hash
  SELECT tenant_id, substr(key, 1, 16), substr(content, 1, 16), parcel_id, until FROM once_keys;
DROP TABLE once_keys;
ALTER TABLE once_keys_of_half_the_hash RENAME TO once_keys;
CREATE TABLE once_lately (
  line      INTEGER PRIMARY KEY,
  tenant_id BLOB NOT NULL,
  key       BLOB NOT NULL,
  content   BLOB NOT NULL,
  parcel_id BLOB NOT NULL,
  until     INTEGER NOT NULL
) STRICT;

DROP INDEX parcels_by_external_id;
CREATE TABLE external_lately (
  line        INTEGER PRIMARY KEY,
  tenant_id   BLOB NOT NULL,
  external_id TEXT NOT NULL,
  parcel      INTEGER NOT NULL
) STRICT;
CREATE TABLE external_ids (
  tenant_id   BLOB NOT NULL,
  external_id TEXT NOT NULL,
  parcel      INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, external_id, parcel)
) STRICT, WITHOUT ROWID;
INSERT INTO external_ids
  SELECT tenant_id, external_id, seq FROM parcels WHERE external_id IS NOT NULL ORDER BY 1, 2, 3;
-- A parcel may be in both.
CREATE VIEW named AS
  SELECT tenant_id, external_id, parcel FROM external_ids
  UNION ALL
  SELECT tenant_id, external_id, parcel FROM external_lately;
