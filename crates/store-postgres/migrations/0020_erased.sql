-- When the content of a parcel was erased: what is left of it is that it was there.
alter table parcels add column erased_at bigint;
