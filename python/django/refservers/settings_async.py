from refservers.settings import *  # noqa: F403
from refservers.settings import MONGODB, number

VIEWS = "api.async_views"
# a connection costs the event loop more than a turn's wait
MONGODB |= {"maxPoolSize": number("MONGODB_POOL_SIZE", 32, 10_000)}
