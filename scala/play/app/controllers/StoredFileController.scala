package controllers

import scala.concurrent.ExecutionContext
import scala.concurrent.Future

import play.api.mvc._
import repositories.StoredFileRepository

final class StoredFileController(
    files: StoredFileRepository,
    cc: ControllerComponents
)(implicit
    ec: ExecutionContext
) extends AbstractController(cc)
    with NamedFiles {

  def send(name: String): Action[AnyContent] = Action.async { request =>
    val found = if (isPlain(name)) files.find(name) else Future.successful(None)
    found.map {
      case None       => Problem(NOT_FOUND)
      case Some(file) =>
        val etag = s""""${file.id}""""
        val result =
          if (isCurrent(etag, request).contains(true)) NotModified
          else
            Ok.streamed(whole(file.content, file.length), Some(file.length), Some(file.contentType))
        result.withHeaders(ETAG -> etag)
    }
  }
}
