package controllers

import java.nio.file.{Files, Path}
import javax.inject.Inject

import scala.util.Try

import models.Settings
import play.api.mvc._

class FileController @Inject() (settings: Settings) extends InjectedController {

  def files(name: String): Action[AnyContent] = Action { request =>
    Try(settings.filesDir.resolve(name).toRealPath()).filter(isServed).fold(_ => Problem(NOT_FOUND), send(_, request))
  }

  private def isServed(file: Path) =
    file.getParent == settings.filesDir && Files.isRegularFile(file) && !Files.isHidden(file)

  private def send(file: Path, request: RequestHeader) = {
    val range = request.headers.get(RANGE).filterNot(_ => request.headers.hasHeader(IF_RANGE))
    val contentType = fileMimeTypes.forFileName(file.getFileName.toString)
    // With which browsers would save the file instead of showing it
    RangeResult.ofPath(file, range, contentType).discardingHeader(CONTENT_DISPOSITION)
  }
}
