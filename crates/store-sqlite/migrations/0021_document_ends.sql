-- Documents of a kind by when they end, such as API keys that are about to expire.
CREATE INDEX records_of_kind_by_end ON records (kind, until, key) WHERE until IS NOT NULL;
