select metric, labels, n from tenax.metric_total
