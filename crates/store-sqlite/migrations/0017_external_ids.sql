-- A tenant's own id for an endpoint. No two of a tenant's endpoints have the same.
ALTER TABLE endpoints ADD COLUMN external_id TEXT;

-- It was in the metadata for endpoints that were made by the Svix-compatible API. The oldest keeps it.
UPDATE endpoints SET external_id = uids.uid
FROM (
  SELECT tenant_id, id, uid, row_number() OVER (PARTITION BY tenant_id, uid ORDER BY id) AS place
  FROM (
    SELECT tenant_id, id, metadata ->> '$.svix.uid' AS uid
    FROM endpoints
    WHERE metadata LIKE '%"svix"%' AND json_valid(metadata) AND json_type(metadata, '$.svix.uid') = 'text'
  )
) AS uids
WHERE uids.place = 1 AND endpoints.tenant_id = uids.tenant_id AND endpoints.id = uids.id;

CREATE UNIQUE INDEX endpoints_by_external_id ON endpoints (tenant_id, external_id)
  WHERE external_id IS NOT NULL;
