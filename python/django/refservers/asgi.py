import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "refservers.settings_async")

django = get_asgi_application()


async def application(scope, receive, send):
    if scope["type"] != "lifespan":
        return await django(scope, receive, send)
    # Django has none: https://code.djangoproject.com/ticket/31508
    from api import async_views, upstream

    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await async_views.mongodb.client.close()
    await upstream.close()
    await send({"type": "lifespan.shutdown.complete"})
