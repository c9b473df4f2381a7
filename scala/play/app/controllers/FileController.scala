package controllers

import java.nio.file.{Files, Path}
import javax.inject.Inject

import scala.util.Try

import models.Settings
import org.apache.pekko.stream.scaladsl.FileIO
import play.api.mvc._

class FileController @Inject() (settings: Settings) extends InjectedController {

  def files(name: String): Action[AnyContent] = Action { request =>
    Try(settings.filesDir.resolve(name).toRealPath()).filter(isServed).fold(_ => Problem(NOT_FOUND), send(_, request))
  }

  private def isServed(file: Path) =
    file.getParent == settings.filesDir && Files.isRegularFile(file) && !Files.isHidden(file)

  /** As `RangeResult.ofPath`, which makes browsers save the file instead of showing it. */
  private def send(file: Path, request: RequestHeader) = {
    val range = request.headers.get(RANGE).filterNot(_ => request.headers.hasHeader(IF_RANGE))
    val bytes = (start: Long) => (start, FileIO.fromPath(file, 8192, start))
    val contentType = fileMimeTypes.forFileName(file.getFileName.toString)
    RangeResult.ofSource(Some(Files.size(file)), bytes, range, None, contentType)
  }
}
