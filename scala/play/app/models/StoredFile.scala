package models

import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString

final case class StoredFile(
    id: String,
    length: Long,
    contentType: String,
    content: Source[ByteString, _]
)
