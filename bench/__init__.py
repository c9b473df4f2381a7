"""Performance runs: workloads, measuring, results, report."""
