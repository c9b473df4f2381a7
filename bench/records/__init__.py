"""What a run measured, as it is kept in a file."""
