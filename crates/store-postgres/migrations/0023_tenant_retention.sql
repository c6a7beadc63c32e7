-- How long what a tenant has sent is stored, where that is not as for all others.
alter table tenants add column keep_events_us bigint;
alter table tenants add column keep_emails_us bigint;
alter table tenants add column keep_dead_us bigint;
create index tenants_with_retention on tenants (tenant_id)
    where keep_events_us is not null or keep_emails_us is not null;

-- By a trigger, so that no statement can forget it.
create function set_dead_letter_expiry() returns trigger language plpgsql as $$
declare
    keep bigint;
begin
    select keep_dead_us into keep from tenants where tenant_id = new.tenant_id;
    if keep is not null then
        new.expires_at := new.moved_at + keep;
    end if;
    return new;
end $$;
create trigger dead_letters_expire before insert or update of moved_at on dead_letters
    for each row execute function set_dead_letter_expiry();
