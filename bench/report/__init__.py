"""The report: an overview and a page for each workload, which need no network."""
