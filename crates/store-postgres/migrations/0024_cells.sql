-- The directory: further databases (cells) of the gateway, and which tenant lives in which. It is used in one database
-- only, the home cell, which has the number 0 and no row; a tenant without a row lives there too.
create table cells (
    number   integer     primary key generated always as identity,
    name     text        not null unique,
    url      bytea       not null, -- encrypted
    state    smallint    not null default 1, -- 1 takes new tenants, 2 takes no more
    added_at timestamptz not null default now()
);

create table cell_tenants (
    tenant_id  uuid        primary key,
    slug       text        not null,
    cell       integer     not null,
    state      smallint    not null, -- 1 is being created, 2 lives there, 3 was deleted
    changed_at timestamptz not null default clock_timestamp()
);
create unique index cell_tenants_slug on cell_tenants (slug) where state <> 3;
create index cell_tenants_changed on cell_tenants (changed_at);
create index cell_tenants_cell on cell_tenants (cell) where state <> 3;
