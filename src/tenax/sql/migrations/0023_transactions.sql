-- Applications submit executions and complete attempts in transactions of their own. A server of an earlier schema
-- would expire a lease whose result is recorded, so such servers stop.
alter table tenax.service
    add column max_body bigint;
alter table tenax.service alter column oldest_schema set default 23;
update tenax.service set oldest_schema = 23;

create table tenax.requested_submission (
    execution_id bigint primary key,
    workflow     text,
    source       text,
    filename     text,
    base_dir     text,
    files        jsonb,
    input        jsonb,
    submit_key   text,
    requested_at timestamptz not null,
    requested_by text not null,
    -- The bytes of its input, source and files.
    size         bigint not null
);
create unique index requested_submission_key on tenax.requested_submission (submit_key) where submit_key is not null;

create table tenax.rejected_submission (
    execution_id bigint primary key,
    workflow     text,
    submit_key   text,
    input        jsonb,
    requested_at timestamptz not null,
    requested_by text not null,
    rejected_at  timestamptz not null,
    reason       text not null,
    message      text not null
);
create index rejected_submission_at on tenax.rejected_submission (rejected_at);

create table tenax.attempt_result (
    lease_token  uuid primary key,
    item_id      bigint not null,
    execution_id bigint not null,
    step         text not null,
    item_no      integer,
    attempt      integer not null,
    result       jsonb,
    completed_at timestamptz not null
);
create index attempt_result_execution on tenax.attempt_result (execution_id);

create function tenax.json_fault(value jsonb) returns text
    language sql immutable set search_path = pg_catalog, pg_temp
    as $$
select case when jsonb_path_exists(value, 'strict $.**{501}') then 'more than 500 levels'
            when jsonb_path_exists(value, 'strict $.** ? (@.type() == "number" && (@ > 1e308 || @ < -1e308))')
            then 'a number beyond 1e308' end
$$;

create function tenax.submit(
    workflow text default null,
    input    jsonb default null,
    key      text default null,
    source   text default null,
    filename text default null,
    base_dir text default null,
    files    jsonb default null
) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
declare
    most  bigint;
    size  bigint;
    fault text;
    id    bigint;
begin
    fault := case
        when (submit.workflow is null) = (submit.source is null) then 'it needs the name of a stored workflow, or the source of a definition'
        when char_length(submit.workflow) not between 1 and 200 then 'workflow must have 1 to 200 characters'
        when char_length(submit.key) not between 1 and 200 then 'key must have 1 to 200 characters'
        when starts_with(submit.key, 'tenax:') then 'a key cannot begin with ''tenax:'': such keys are the server''s own'
        when char_length(submit.filename) > 1000 or char_length(submit.base_dir) > 1000
        then 'filename and base_dir must have at most 1000 characters'
        when jsonb_typeof(submit.input) <> 'object' then 'input must be a JSON object'
        when jsonb_typeof(submit.files) <> 'object' then 'files must be a JSON object'
        else 'input has ' || tenax.json_fault(submit.input)
    end;
    if fault is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'tenax.submit: ' || fault;
    end if;
    select coalesce(s.max_body, 16777216) into most from tenax.service s;
    size := coalesce(octet_length(submit.input::text), 0) + coalesce(octet_length(submit.source), 0)
            + coalesce(octet_length(submit.files::text), 0);
    if size > most then
        raise exception using errcode = 'program_limit_exceeded',
            message = format('tenax.submit takes at most %s bytes (max_body)', most),
            hint = 'send less, or raise max_body (TENAX_MAX_BODY) on the servers';
    end if;
    if submit.workflow is not null and not exists (
        select from tenax.workflow w
         where w.name = split_part(submit.workflow, '@', 1)
           and (strpos(submit.workflow, '@') in (0, char_length(submit.workflow))
                or w.version = substr(submit.workflow, strpos(submit.workflow, '@') + 1))) then
        raise exception using errcode = 'undefined_object', message = format('there is no workflow named %L', submit.workflow),
            hint = '`tenax workflows` lists what is stored; `tenax store FILE` stores a definition';
    end if;
    for tries in 1..10 loop
        select e.id into id from tenax.execution e where e.submit_key = submit.key;
        if id is not null then
            return id;
        end if;
        insert into tenax.requested_submission
               (execution_id, workflow, source, filename, base_dir, files, input, submit_key, requested_at, requested_by,
                size)
        values (nextval('tenax.execution_id'), submit.workflow, submit.source, submit.filename, submit.base_dir, submit.files,
                submit.input, submit.key, tenax.now(), session_user, size)
            on conflict (submit_key) where submit_key is not null do nothing
        returning execution_id into id;
        if id is null then
            select r.execution_id into id from tenax.requested_submission r where r.submit_key = submit.key;
        elsif submit.key is not null and exists (select from tenax.execution e where e.submit_key = submit.key) then
            -- A server has started the request of another transaction with this key in the meantime.
            delete from tenax.requested_submission r where r.execution_id = id;
            id := null;
        else
            perform pg_notify('tenax_news', '{"requests":true}');
        end if;
        if id is not null then
            return id;
        end if;
    end loop;
    raise exception using errcode = 'serialization_failure', message = format('the key %L is being used by others', submit.key);
end
$$;

create function tenax.complete(item_id bigint, token uuid, result jsonb default null) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
declare
    most  bigint;
    fault text;
    held  record;
    pause interval;
begin
    select coalesce(s.max_body, 16777216) into most from tenax.service s;
    if octet_length(complete.result::text) > most then
        raise exception using errcode = 'program_limit_exceeded',
            message = format('a result has at most %s bytes (max_body)', most),
            hint = 'store large data elsewhere, and return a reference to it';
    end if;
    fault := tenax.json_fault(complete.result);
    if fault is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'the result has ' || fault;
    end if;
    -- The lock makes the server wait for this transaction before it ends the lease.
    select i.execution_id, i.step, i.item_no, i.attempt into held
      from tenax.item i
     where i.id = complete.item_id and i.state = 'leased' and i.lease_token = complete.token
       for update;
    if not found then
        raise exception using errcode = 'TX001', message = 'the lease of this attempt is not valid any more',
            hint = 'roll back: another attempt does the work, or somebody cancelled it';
    end if;
    begin
        insert into tenax.attempt_result (lease_token, item_id, execution_id, step, item_no, attempt, result, completed_at)
        values (complete.token, complete.item_id, held.execution_id, held.step, held.item_no, held.attempt, complete.result,
                tenax.now());
    exception when unique_violation then
        raise exception using errcode = 'TX002', message = 'this attempt is complete already';
    end;
    -- Heartbeats and the server wait while the item is locked, so the transaction must commit soon.
    pause := current_setting('idle_in_transaction_session_timeout')::interval;
    if pause = interval '0' or pause > interval '10 seconds' then
        perform set_config('idle_in_transaction_session_timeout', '10s', true);
    end if;
end
$$;

revoke execute on function tenax.submit(text, jsonb, text, text, text, text, jsonb), tenax.complete(bigint, uuid, jsonb) from public;

create view ops.rejected_submissions as
    select r.execution_id, r.workflow, r.submit_key as key, r.input, r.requested_at, r.requested_by, r.rejected_at, r.reason,
           r.message
      from tenax.rejected_submission r;

-- Roles that read the other views read the new one too.
do $$
declare
    reader regrole;
begin
    for reader in
        select distinct a.grantee::regrole
          from pg_class c cross join lateral aclexplode(c.relacl) as a
         where c.oid = 'ops.events'::regclass and a.privilege_type = 'SELECT' and a.grantee not in (0, c.relowner)
    loop
        execute format('grant select on ops.rejected_submissions to %s', reader);
    end loop;
end
$$;

comment on view ops.rejected_submissions is 'The submissions by `tenax.submit` that the server could not start, and why.';
comment on column ops.rejected_submissions.execution_id is 'the id that `tenax.submit` returned: no execution has it';
comment on column ops.rejected_submissions.workflow is 'the name of the workflow; null: the source was given';
comment on column ops.rejected_submissions.key is 'the key of the submission';
comment on column ops.rejected_submissions.input is 'its input';
comment on column ops.rejected_submissions.requested_at is 'when `tenax.submit` was called';
comment on column ops.rejected_submissions.requested_by is 'the role of the session that called it';
comment on column ops.rejected_submissions.rejected_at is 'when the server rejected it';
comment on column ops.rejected_submissions.reason is 'the code of the error: `invalid_input`, `invalid_definition`, `key_taken`, ...';
comment on column ops.rejected_submissions.message is 'the error';
