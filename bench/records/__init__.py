"""What a run measured, as its file keeps it."""
