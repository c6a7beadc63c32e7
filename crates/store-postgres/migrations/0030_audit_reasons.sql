-- Why someone paused something, in their own words; empty where none was given.
alter table audit_log add column reason text not null default '';
