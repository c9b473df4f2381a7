"""Other machines of a measurement: those that generate the load, and the server's."""
