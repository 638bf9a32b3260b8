-- Items that have failed for good get a dead letter. `tenax.store.fill_letters` fills the table from the log after this
-- file, in the same transaction. A server that was written for an older schema would write no letters: it must stop.
create table tenax.dead_letter (
    -- The item's id when the letter was first written. Recovery may rebuild an item under another id, so statements find
    -- a letter by the place of its item.
    item_id      bigint primary key,
    execution_id bigint not null,
    workflow     text not null,
    step         text not null,
    item_no      integer,
    compensates  boolean not null,
    status       text not null check (status in ('open', 'redriven', 'recovered', 'resolved', 'discarded')),
    -- The item failed within the `tolerate` of its step.
    tolerated    boolean not null,
    -- The rule of the decision that gave up on the item, or that quarantined it (`poison`).
    rule         text not null,
    class        text not null,
    reason       text not null,
    -- The beginning of the failure's message.
    message      text not null,
    -- A hash of class, reason, step and the shape of the message.
    fingerprint  text not null,
    -- The number of the last attempt.
    attempts     integer not null check (attempts >= 0),
    -- How often the item failed for good or was quarantined: once, and once more each time that it had been started again.
    failed_times integer not null check (failed_times > 0),
    first_at     timestamptz not null,
    last_at      timestamptz not null,
    -- When the status last changed.
    changed_at   timestamptz not null,
    -- Why it was discarded, and by whom.
    note         text,
    actor        text,
    constraint dead_letter_note check (status <> 'discarded' or note is not null and actor is not null)
) with (fillfactor = 85);
create unique index dead_letter_place on tenax.dead_letter (execution_id, step, coalesce(item_no, -1), compensates);
create index dead_letter_newest on tenax.dead_letter (status, last_at, item_id);
create index dead_letter_group on tenax.dead_letter (fingerprint, status);

alter table tenax.service alter column oldest_schema set default 11;
update tenax.service set oldest_schema = 11;
