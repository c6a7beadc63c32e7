-- Parts of a fan-out that are kept in order by subject: what is accepted later waits for them. See order.rs.
ALTER TABLE fan_out_parts ADD COLUMN tenant_id BLOB;
ALTER TABLE fan_out_parts ADD COLUMN subject TEXT; -- NULL, if none of it is kept in order
ALTER TABLE fan_out_parts ADD COLUMN number INTEGER;
CREATE INDEX fan_out_parts_in_order ON fan_out_parts (tenant_id, subject, number) WHERE subject IS NOT NULL;
