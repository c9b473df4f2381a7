# ruff: noqa: E402
from gevent import monkey

monkey.patch_all()

from gevent.pywsgi import WSGIServer

from app import settings
from app.application import application

WSGIServer((settings.HOST, settings.PORT), application).serve_forever()
