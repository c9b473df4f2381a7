from django.conf import settings
from pymongo import MongoClient

# Connects at the first operation, which is in the worker process.
client = MongoClient(**settings.MONGODB, connect=False)
mongodb = client.get_default_database("refservers")

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""
