from refservers.settings import *  # noqa: F403

VIEWS = "api.async_views"
