"""The questions: one file per group; each question is a function that returns an answer."""
