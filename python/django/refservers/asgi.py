import os
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import ThreadSensitiveContext
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "refservers.settings_async")

django = get_asgi_application()
idle_threads: list[ThreadPoolExecutor] = []


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    # Django would start, and stop, a thread for the signals and the ORM of each request
    thread = idle_threads.pop() if idle_threads else ThreadPoolExecutor(max_workers=1)
    try:
        async with ThreadSensitiveContext(executor=thread):
            await django(scope, receive, send)
    finally:
        idle_threads.append(thread)


async def lifespan(receive, send):
    """Django has none: https://code.djangoproject.com/ticket/31508"""
    from api import async_views

    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await async_views.close()
    await send({"type": "lifespan.shutdown.complete"})
