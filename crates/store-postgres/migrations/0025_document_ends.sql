-- Documents of a kind by when they end, such as API keys that are about to expire.
create index records_of_kind_by_end on records (kind, until, key) where until is not null;
