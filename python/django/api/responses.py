from functools import partial

from django.http import JsonResponse

json_response = partial(
    JsonResponse,
    safe=False,
    json_dumps_params={"ensure_ascii": False, "separators": (",", ":")},
)
