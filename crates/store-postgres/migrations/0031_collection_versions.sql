-- Changes with every change of a tenant's event types, so that who has read them knows whether to read them again.
-- A random number, which no other cell and no earlier collection has had; there is none while the collection is empty.
create table collection_versions (
    kind      text   not null,
    tenant_id uuid   not null,
    version   bigint not null,
    primary key (kind, tenant_id)
) with (fillfactor = 50);
create function collection_is_changed() returns trigger language plpgsql as $$
declare
    on_kind text := case tg_op when 'DELETE' then old.kind else new.kind end;
    owner uuid := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
begin
    if tg_op = 'DELETE' and not exists (select from records where kind = on_kind and tenant_id = owner) then
        delete from collection_versions where kind = on_kind and tenant_id = owner;
    else
        insert into collection_versions as v (kind, tenant_id, version)
        values (on_kind, owner, 1 + floor(random() * 1e15)::bigint)
        on conflict (kind, tenant_id) do update set version = excluded.version;
    end if;
    return null;
end $$;
create trigger collection_grows after insert or update on records
    for each row when (new.kind = 'event_type') execute function collection_is_changed();
create trigger collection_shrinks after delete on records
    for each row when (old.kind = 'event_type') execute function collection_is_changed();
insert into collection_versions (kind, tenant_id, version)
select distinct kind, tenant_id, 1 from records where kind = 'event_type';
