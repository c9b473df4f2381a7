"""Twisted's own tests, which pytest runs on the reactor that the server installs, too."""

from twisted.internet import asyncioreactor

asyncioreactor.install()
