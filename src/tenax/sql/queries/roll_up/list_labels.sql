select label, value from tenax.metric_label
