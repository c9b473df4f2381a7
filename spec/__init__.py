"""The contract: `openapi.yaml`, and the fixtures for databases and folders."""

from spec.content import AGENTS_QUERY as AGENTS_QUERY
from spec.content import AGENTS_SQL as AGENTS_SQL
from spec.content import FILES as FILES
from spec.content import OPENAPI as OPENAPI
from spec.content import agents as agents
from spec.content import article as article
from spec.content import articles as articles
from spec.content import content_type as content_type
from spec.content import files as files
from spec.content import json_body as json_body
from spec.content import notes as notes
from spec.content import openapi as openapi
from spec.content import problem as problem
from spec.content import revisions as revisions
from spec.content import upstream_result as upstream_result
from spec.endpoints import ENDPOINTS as ENDPOINTS
from spec.endpoints import SETTINGS as SETTINGS
from spec.endpoints import Part as Part
from spec.endpoints import Source as Source
from spec.endpoints import part_of as part_of
from spec.expected import JSON as JSON
from spec.expected import PROBLEM as PROBLEM
from spec.expected import Expected as Expected
from spec.expected import expected as expected
