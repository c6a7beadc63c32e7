-- The request in which a receipt came: its method, its path and its headers, without what is secret.
ALTER TABLE parcels ADD COLUMN request BLOB;
