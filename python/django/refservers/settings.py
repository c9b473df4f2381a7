# https://docs.djangoproject.com/en/5.2/ref/settings/

import os
import secrets
import sys

from psycopg.conninfo import conninfo_to_dict
from pymongo.uri_parser import parse_uri

from refservers.environment import folder, number, url
from refservers.postgresql import BoundedConnection

try:
    HOST = os.environ.get("HOST", "127.0.0.1")
    PORT = number("PORT", 8000, 65535)
    WORKERS = number("WORKERS", 1, 1024)
    THREADS = number("THREADS", 50, 10_000)
    MONGODB_URL = url(
        "MONGODB_URL", "mongodb", parse=parse_uri, default="mongodb://127.0.0.1:27017/refservers"
    )
    MONGODB_POOL_SIZE = number("MONGODB_POOL_SIZE", 100, 10_000)
    DATABASE_URL = url(
        "DATABASE_URL",
        "postgresql",
        parse=conninfo_to_dict,
        default="postgresql://refservers@127.0.0.1:5432/refservers",
    )
    DATABASE_POOL_SIZE = number("DATABASE_POOL_SIZE", 10, 10_000)
    FILES_DIR = folder("FILES_DIR")
    SLOW_API_URL = url("SLOW_API_URL", "http", "https")
except ValueError as error:
    print(f"bad setting: {error}", file=sys.stderr)
    sys.exit(2)

MONGODB = {
    "host": MONGODB_URL,
    "maxPoolSize": MONGODB_POOL_SIZE,
    "timeoutMS": 2000,  # for an operation with all that it waits for
    "connectTimeoutMS": 1000,
}

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "refservers",  # where DATABASE_URL names none
        "OPTIONS": {
            **conninfo_to_dict(DATABASE_URL),
            "connect_timeout": 2,
            "server_side_binding": True,
            "prepare_threshold": 5,
            "pool": {
                "min_size": 0,  # connect at the first query: the server starts without the database
                "max_size": DATABASE_POOL_SIZE,
                "timeout": 1.5,  # and 1 s for the query: BoundedConnection
                "reconnect_timeout": 2,
                "connection_class": BoundedConnection,
            },
        },
    }
}

INSTALLED_APPS = ["api"]
MIDDLEWARE = ["api.middleware.ProblemMiddleware"]
ROOT_URLCONF = "refservers.urls"
VIEWS = "api.views"
AGENTS_IN_SQL = False

ALLOWED_HOSTS = ["*"]
SECRET_KEY = secrets.token_urlsafe(50)  # nothing here signs anything
DATA_UPLOAD_MAX_NUMBER_FIELDS = None  # in a query string: the server limits its length
TIME_ZONE = "UTC"
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler", "level": "ERROR"}},
    "root": {"handlers": ["stderr"]},
}
