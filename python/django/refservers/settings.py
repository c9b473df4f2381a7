import environ
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()


def url(name, scheme, default=env.NOTSET):
    value = env.str(name, default)
    if value.startswith(scheme) and "://" in value:
        return value
    raise ImproperlyConfigured(f"{name} must be a {scheme} URL")


ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["*"])
INSTALLED_APPS = ["api"]
MIDDLEWARE = ["api.problems.ProblemMiddleware"]
ROOT_URLCONF = env.str("ROOT_URLCONF", "refservers.urls")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}

MONGODB = {
    "host": url("MONGODB_URL", "mongodb", "mongodb://127.0.0.1:27017/refservers"),
    "maxPoolSize": env.int("MONGODB_POOL_SIZE", 32),
    "serverSelectionTimeoutMS": 3000,
}
DATABASE_URL = url("DATABASE_URL", "postgres", "postgresql://refservers@127.0.0.1:5432/refservers")
DATABASES = {"default": env.db_url_config(DATABASE_URL)}
DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 0,
    "max_size": env.int("DATABASE_POOL_SIZE", 10),
    "timeout": 3,
    "reconnect_timeout": 3,
}
MEDIA_ROOT = env.path("FILES_DIR", required=True)
SLOW_API_URL = url("SLOW_API_URL", "http")
