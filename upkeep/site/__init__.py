"""The site: a start page, a page for each server, the results and the behaviours."""
