-- This number belongs to a change that comes from elsewhere.
select;
