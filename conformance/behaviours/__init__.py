"""The questions: one file a group, each question a function that gives the answer's class."""
