select workflow, actor, reason, resumed_by, resumed_why from tenax.workflow_pause
