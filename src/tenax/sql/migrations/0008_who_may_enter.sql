-- A worker's name belongs to the token that it registered with. A worker says which protocol it speaks. And a server that was written for
-- an older schema learns that it must stop.
alter table tenax.worker
    -- The token that it registered with. The name belongs to that token as long as it is in force. Null: it is anyone's.
    add column token_id bigint,
    -- Of what it says and hears. Version 1 does not say which it speaks.
    add column protocol integer not null default 1;

alter table tenax.service
    -- Servers that were written for an older schema than this stop. A migration that they cannot live with raises it to its own number.
    -- Column and table keep their names and their meaning for ever: every server reads them, however old it is.
    add column oldest_schema integer not null default 8;
