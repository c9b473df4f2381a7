package controllers

import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.attribute.BasicFileAttributes
import java.time.Instant
import java.time.temporal.ChronoUnit.SECONDS

import scala.util.Try

import org.apache.pekko.stream.scaladsl.FileIO
import play.api.http.ContentTypes
import play.api.mvc._
import play.api.mvc.ResponseHeader.httpDateFormat

final class FileController(folder: Path, cc: ControllerComponents)
    extends AbstractController(cc)
    with NamedFiles {

  def send(name: String): Action[AnyContent] = Action { request =>
    find(name).fold(Problem(NOT_FOUND)) { case (path, attributes) =>
      val modified = attributes.lastModifiedTime.toInstant
      val etag =
        s""""${modified.getEpochSecond}.${modified.getNano}-${attributes.size}""""
      val lastModified = httpDateFormat.format(modified)

      val notModified = isCurrent(etag, request).getOrElse {
        request.headers
          .get(IF_MODIFIED_SINCE)
          .flatMap(date => Try(Instant.from(httpDateFormat.parse(date))).toOption)
          .exists(!modified.truncatedTo(SECONDS).isAfter(_))
      }
      val range = request.headers
        .get(RANGE)
        .filter(_ => request.headers.get(IF_RANGE).forall(Set(etag, lastModified)))
        .filterNot(_.contains(',')) // RangeResult sends but the first of several
        .map(_.replaceAll("[0-9]{19,}", Long.MaxValue.toString)) // RangeResult reads Longs

      val result =
        if (notModified) NotModified
        else
          RangeResult.ofSource(
            Some(attributes.size),
            start =>
              (start, whole(FileIO.fromPath(path, 64 * 1024, start), attributes.size - start)),
            range,
            fileName = None,
            Some(contentType(name))
          )
      result.withHeaders(ETAG -> etag, LAST_MODIFIED -> lastModified, ACCEPT_RANGES -> "bytes")
    }
  }

  private def find(name: String) = Option
    .when(isPlain(name))(name)
    .flatMap(name => Try(folder.resolve(name).toRealPath()).toOption)
    .filter(_.startsWith(folder))
    .map(path => path -> Files.readAttributes(path, classOf[BasicFileAttributes]))
    .filter { case (_, attributes) => attributes.isRegularFile }

  private def contentType(name: String) =
    Extension
      .findFirstIn(name)
      .flatMap(fileMimeTypes.forFileName(_))
      .getOrElse(ContentTypes.BINARY)

  private val Extension = "\\.[a-z]+$".r // FileMimeTypes takes .JPG too, and a bare jpg
}
