-- Rises with every change of a tenant's endpoints, so that who has read them knows whether to read them
-- again. Kept by a trigger, whoever makes the change.
create table endpoint_versions (
    tenant_id uuid   not null primary key,
    version   bigint not null
) with (fillfactor = 50);
create function endpoints_are_changed() returns trigger language plpgsql as $$
begin
    insert into endpoint_versions as v (tenant_id, version)
    values (case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end, 1)
    on conflict (tenant_id) do update set version = v.version + 1;
    return null;
end $$;
create trigger endpoints_are_changed after insert or update or delete on endpoints
    for each row execute function endpoints_are_changed();
