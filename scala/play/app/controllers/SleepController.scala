package controllers

import scala.concurrent.ExecutionContext
import scala.concurrent.duration._

import models.Pause
import play.api.libs.concurrent.Futures
import play.api.libs.json.Json
import play.api.mvc._

final class SleepController(futures: Futures, cc: ControllerComponents)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def sleep(ms: Pause): Action[AnyContent] = Action.async {
    futures.delay(ms.ms.millis).map(_ => Ok(Json.obj("slept_ms" -> ms.ms)))
  }
}
