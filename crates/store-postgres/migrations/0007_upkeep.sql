-- How many of a subject's parcels have been removed: when that is all of them, the subject goes too.
-- Of subjects that are older than this column it is not known how many had gone before, and they stay.
alter table subjects add column gone bigint not null default 0;

-- When a record may be removed. Null: never.
alter table records add column until bigint;
create index records_by_end on records (until) where until is not null;

create index usage_by_period on usage (period);
