-- How many dead letters there are, so that nobody has to count them. Each change is a row of its own, so
-- that no two transactions wait for each other; pruning adds up those of one key. The sum counts.
create table dead_counts (
    tenant_id uuid     not null,
    lane      smallint not null,
    code      text     not null,
    change    bigint   not null
);
create index dead_counts_of_tenant on dead_counts (tenant_id, lane, code);

create function count_dead_letter() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.code = new.code then
        return null;
    end if;
    if tg_op <> 'INSERT' then
        insert into dead_counts values (old.tenant_id, old.lane, old.code, -1);
    end if;
    if tg_op <> 'DELETE' then
        insert into dead_counts values (new.tenant_id, new.lane, new.code, 1);
    end if;
    return null;
end $$;

-- Nobody writes between the count and the trigger: other nodes may be running.
lock table dead_letters in share row exclusive mode;
insert into dead_counts select tenant_id, lane, code, count(*) from dead_letters group by 1, 2, 3;
create trigger dead_letters_are_counted after insert or update or delete on dead_letters
    for each row execute function count_dead_letter();
