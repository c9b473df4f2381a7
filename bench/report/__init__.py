"""The report: runs as one page that needs nothing else, with its charts as pictures beside it."""
