-- What a node says of itself, for the list of nodes. Nodes of earlier versions say nothing.
alter table nodes add column version text not null default '';
alter table nodes add column roles text not null default ''; -- separated by commas
alter table nodes add column joined_at timestamptz not null default clock_timestamp();
