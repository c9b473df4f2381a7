from datetime import UTC, datetime

from app import create_app
from flask import Response

app = create_app()


@app.after_request
def date(response: Response) -> Response:
    response.date = datetime.now(UTC)  # uWSGI adds none
    return response
