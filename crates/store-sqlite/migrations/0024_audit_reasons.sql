-- Why someone paused something, in their own words; empty where none was given.
ALTER TABLE audit_log ADD COLUMN reason TEXT NOT NULL DEFAULT '';
