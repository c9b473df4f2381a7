"""The contract: `openapi.yaml`, and the fixtures that databases and folders are filled from."""

from spec.content import (
    AGENTS_QUERY,
    AGENTS_SQL,
    FILES,
    OPENAPI,
    REVISIONS,
    agents,
    article,
    articles,
    content_type,
    files,
    fingerprint,
    json_body,
    openapi,
    problem,
    revisions,
)
from spec.images import image, write_images

__all__ = [
    "AGENTS_QUERY",
    "AGENTS_SQL",
    "FILES",
    "OPENAPI",
    "REVISIONS",
    "agents",
    "article",
    "articles",
    "content_type",
    "files",
    "fingerprint",
    "image",
    "json_body",
    "openapi",
    "problem",
    "revisions",
    "write_images",
]
