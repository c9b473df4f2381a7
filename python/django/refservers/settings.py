from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()


def url(name, schemes, default=env.NOTSET):
    value = env.url(name, default)
    if value.scheme in schemes:
        return value.geturl()
    raise ImproperlyConfigured(f"{name} must be a URL: {' or '.join(schemes)}")


ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["*"])
INSTALLED_APPS = ["api"]
MIDDLEWARE = ["api.problems.ProblemMiddleware"]
ROOT_URLCONF = env.str("ROOT_URLCONF", "refservers.urls")
TIME_ZONE = "UTC"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}

MONGODB_URL = url("MONGODB_URL", ["mongodb", "mongodb+srv"], "mongodb://127.0.0.1:27017/refservers")
MONGODB = {
    "host": MONGODB_URL,
    "maxPoolSize": env.int("MONGODB_POOL_SIZE", 32),
    "serverSelectionTimeoutMS": 3000,
}
DATABASE_URL = url(
    "DATABASE_URL",
    ["postgresql", "postgres"],
    "postgresql://refservers@127.0.0.1:5432/refservers",
)
DATABASES = {"default": env.db_url_config(DATABASE_URL)}
DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 0,
    "max_size": env.int("DATABASE_POOL_SIZE", 10),
    "timeout": 3,
    "reconnect_timeout": 3,
}
MEDIA_ROOT = env.str("FILES_DIR")
if not MEDIA_ROOT or not Path(MEDIA_ROOT).is_dir():
    raise ImproperlyConfigured("FILES_DIR must be a folder")
SLOW_API_URL = url("SLOW_API_URL", ["http", "https"])
