-- The request in which a receipt came: its method, its path and its headers, without what is secret.
alter table parcels add column request bytea;
