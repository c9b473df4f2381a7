# ruff: noqa: E402
from gevent import monkey

monkey.patch_all()

from gevent.pywsgi import WSGIServer

from app import settings
from app.main import create_app

WSGIServer((settings.HOST, settings.PORT), create_app()).serve_forever()
