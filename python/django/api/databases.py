from django.conf import settings
from pymongo import MongoClient

client = MongoClient[dict[str, object]](
    settings.MONGODB_URL,
    maxPoolSize=settings.MONGODB_POOL_SIZE,
    timeoutMS=3000,
    serverSelectionTimeoutMS=3000,
    socketTimeoutMS=3000,
)
mongodb = client.get_default_database("refservers")
