from refservers.settings import *  # noqa: F403

ROOT_URLCONF = "refservers.urls_sql"
