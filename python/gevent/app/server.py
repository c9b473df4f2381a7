from gevent import monkey

monkey.patch_all()

import signal  # noqa: E402
