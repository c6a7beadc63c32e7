-- Tenants whose things are being removed.
create table deleted_tenants (
    tenant_id  uuid    not null primary key,
    slug       text    collate "C" not null,
    deleted_at bigint  not null,
    is_erased  boolean not null default false
);
