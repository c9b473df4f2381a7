from refservers.settings import *  # noqa: F403

AGENTS_IN_SQL = True
