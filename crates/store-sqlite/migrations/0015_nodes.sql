-- What a node says of itself, for the list of nodes. Nodes of earlier versions say nothing.
ALTER TABLE nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN roles TEXT NOT NULL DEFAULT ''; -- separated by commas
ALTER TABLE nodes ADD COLUMN joined_at INTEGER NOT NULL DEFAULT 0;
