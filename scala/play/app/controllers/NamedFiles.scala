package controllers

import java.io.EOFException

import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import play.api.http.HeaderNames.IF_NONE_MATCH
import play.api.mvc.RequestHeader

/** What /files and /gridfs have in common. */
trait NamedFiles {

  // java.net.URI, which Play decodes paths with, makes U+FFFD of invalid UTF-8
  protected def isPlain(name: String): Boolean =
    !name.startsWith(".") && !name.exists("/\\\u0000\uFFFD".contains(_))

  /** Whether the client has this entity; None if it does not say. */
  protected def isCurrent(etag: String, request: RequestHeader): Option[Boolean] =
    request.headers.get(IF_NONE_MATCH).map {
      _.split(',').map(_.trim.stripPrefix("W/")).exists(tag => tag == "*" || tag == etag)
    }

  /** Fails where the body ends early, as Play would leave the client waiting. */
  protected def whole[A](body: Source[ByteString, A], length: Long): Source[ByteString, A] =
    body.statefulMap(() => length)(
      (left, bytes) => (left - bytes.size, bytes),
      left => if (left > 0) throw new EOFException(s"$left bytes are missing") else None
    )
}
