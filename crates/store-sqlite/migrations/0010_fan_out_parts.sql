-- Deliveries of parcels with very many, which are placed part by part: see fan_out.rs.
CREATE TABLE fan_out_parts (
  parcel     INTEGER NOT NULL,
  first      INTEGER NOT NULL, -- the place of its first delivery among the parcel's
  deliveries BLOB NOT NULL,
  PRIMARY KEY (parcel, first)
) STRICT, WITHOUT ROWID;
