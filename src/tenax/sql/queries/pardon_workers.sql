-- What these items cost their workers is not their workers' fault.
delete from tenax.worker_loss where items && $1::bigint[]
