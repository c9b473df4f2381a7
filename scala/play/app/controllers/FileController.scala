package controllers

import java.nio.file.Files
import javax.inject.Inject

import scala.concurrent.ExecutionContext
import scala.util.Try

import models.Settings
import play.api.mvc._

class FileController @Inject() (cc: ControllerComponents, settings: Settings)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def files(name: String): Action[AnyContent] = Action {
    Try(settings.filesDir.resolve(name).toRealPath())
      .filter(file => file.startsWith(settings.filesDir) && Files.isRegularFile(file))
      .fold(_ => Problem(NOT_FOUND), file => Ok.sendPath(file))
  }
}
