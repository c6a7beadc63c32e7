-- Who changed what, or tried to. The time of an entry is that of its id. `until` is when it goes.
create table audit_log (
    id         uuid     primary key,
    tenant_id  uuid,
    actor_kind text     not null,
    actor      text     not null,
    operation  text     not null,
    resource   text     not null,
    status     smallint not null,
    code       text     not null,
    request_id text     not null,
    address    text     not null,
    until      bigint   not null
);

create index audit_log_of_tenant on audit_log (tenant_id, id);
create index audit_log_by_end on audit_log (until);
