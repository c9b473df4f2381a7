import os
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import ThreadSensitiveContext
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "refservers.settings_async")

django = get_asgi_application()
idle: list[ThreadPoolExecutor] = []


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    # Django would start a thread for the signals and the ORM of each request
    thread = idle.pop() if idle else ThreadPoolExecutor(max_workers=1)
    try:
        async with ThreadSensitiveContext(executor=thread):
            await django(scope, receive, send)
    finally:
        idle.append(thread)


async def lifespan(receive, send):
    # https://code.djangoproject.com/ticket/31508
    from api import upstream

    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await upstream.close()
    await send({"type": "lifespan.shutdown.complete"})
