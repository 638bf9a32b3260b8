select exists (select from tenax.item where refused_by is not null and state in ('queued', 'retrying'))
