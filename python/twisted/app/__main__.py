from twisted.internet import asyncioreactor

asyncioreactor.install()  # for asyncpg and PyMongo, before Klein imports the default reactor

from twisted.internet.task import react  # noqa: E402

from app.main import main  # noqa: E402

react(main)
