from django.urls.converters import StringConverter


class FileNameConverter(StringConverter):
    regex = r"(?!\.)[^/\\\0]+"
