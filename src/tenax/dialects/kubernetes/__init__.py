"""Translates the Jobs and CronJobs of Kubernetes."""
