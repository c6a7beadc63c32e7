-- When the content of a parcel was erased: what is left of it is that it was there.
ALTER TABLE parcels ADD COLUMN erased_at INTEGER;
