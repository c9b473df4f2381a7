from django.urls.converters import StringConverter


class FileNameConverter(StringConverter):
    regex = r"(?!\.)[^/\\\0\ufffd]+"  # U+FFFD: not UTF-8
