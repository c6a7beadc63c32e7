-- A tenant's own id for an endpoint. No two of a tenant's endpoints have the same.
alter table endpoints add column external_id text collate "C";

-- It was in the metadata for endpoints that were made by the Svix-compatible API. The oldest keeps it. Metadata is JSON,
-- and not JSONB, which refuses the character 0 anywhere in it.
update endpoints set external_id = uids.uid
from (
    select tenant_id, id, uid, row_number() over (partition by tenant_id, uid order by id) as place
    from (
        select tenant_id, id, metadata::json #>> '{svix,uid}' as uid
        from endpoints
        where metadata like '%"svix"%'
    ) as kept
    where uid is not null
) as uids
where uids.place = 1 and endpoints.tenant_id = uids.tenant_id and endpoints.id = uids.id;

create unique index endpoints_by_external_id on endpoints (tenant_id, external_id)
    where external_id is not null;
