-- What happened to deliveries: per minute (a row for each node that counted), hour and day. `chunk` is the hour
-- or day that a row is rolled up and pruned with. Zeros stand for no tenant and no target. Times in seconds.
create table statistics (
    level     smallint not null,
    chunk     bigint   not null,
    tenant_id uuid     not null,
    target_id uuid     not null,
    lane      smallint not null,
    at        bigint   not null,
    node      bigint   not null,
    part      integer  not null,
    failed    bigint   not null,
    figures   bytea    not null,
    primary key (level, chunk, tenant_id, target_id, lane, at, node, part)
);

-- Which targets fail: minutes of targets only, and only those with failed attempts.
create index statistics_failing on statistics (lane, at, failed desc)
    where level = 2 and failed > 0;
create index statistics_failing_of_tenant on statistics (tenant_id, lane, at, failed desc)
    where level = 2 and failed > 0;

-- Chunks with rows that are not rolled up yet.
create table statistics_due (
    level   smallint not null,
    chunk   bigint   not null,
    version bigint   not null,
    place   bytea,
    primary key (level, chunk)
);
