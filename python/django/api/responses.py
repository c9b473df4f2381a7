from functools import partial

from django.http import JsonResponse

json_response = partial(
    JsonResponse,
    safe=False,
    # str writes an ObjectId
    json_dumps_params={"default": str, "ensure_ascii": False, "separators": (",", ":")},
)
