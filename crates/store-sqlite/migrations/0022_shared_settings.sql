-- What nodes must set alike, as each has it: fingerprints by name, never the values. Empty for nodes of earlier versions.
ALTER TABLE nodes ADD COLUMN shared_settings TEXT NOT NULL DEFAULT '';
