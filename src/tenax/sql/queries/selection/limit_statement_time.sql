-- Limits the time of each later statement of the transaction.
select set_config('statement_timeout', $1::text, true)
