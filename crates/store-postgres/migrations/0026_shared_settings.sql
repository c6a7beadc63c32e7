-- What nodes must set alike, as each has it: fingerprints by name, never the values. Empty for nodes of earlier versions.
alter table nodes add column shared_settings text not null default '';
