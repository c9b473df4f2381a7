# https://docs.aiohttp.org/en/stable/deployment.html#start-gunicorn

from app.settings import Settings

settings = Settings.from_environment()

wsgi_app = "app.gunicorn:app"
bind = f"{settings.host}:{settings.port}"
workers = settings.workers
worker_class = "aiohttp.GunicornUVLoopWebWorker"
# https://docs.gunicorn.org/en/stable/settings.html#graceful-timeout
graceful_timeout = 10
# https://docs.gunicorn.org/en/stable/settings.html#keepalive: what aiohttp itself has
keepalive = 75
