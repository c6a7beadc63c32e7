-- How many of a subject's parcels have been removed: when that is all of them, the subject goes too.
-- Of subjects that are older than this column it is not known how many had gone before, and they stay.
ALTER TABLE subjects ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;

-- When a record may be removed. NULL: never.
ALTER TABLE records ADD COLUMN until INTEGER;
CREATE INDEX records_by_end ON records (until) WHERE until IS NOT NULL;

CREATE INDEX usage_by_period ON usage (period);
