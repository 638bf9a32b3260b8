-- Limits the time of each further statement of the transaction.
select set_config('statement_timeout', $1::text, true)
