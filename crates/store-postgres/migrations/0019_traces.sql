-- The publisher's place in its trace: 16 bytes of the trace's id, 8 of the span's, and the flags.
alter table parcels add column trace bytea;
