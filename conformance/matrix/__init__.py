"""The recorded behaviours side by side: in the terminal, as JSON, and as a page."""
