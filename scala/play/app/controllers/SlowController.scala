package controllers

import java.util.concurrent.TimeoutException
import javax.inject.Inject

import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import models.Settings
import play.api.libs.concurrent.Futures
import play.api.libs.json.{JsObject, Json}
import play.api.libs.ws.WSClient
import play.api.mvc._

class SlowController @Inject() (
    cc: ControllerComponents,
    settings: Settings,
    futures: Futures,
    ws: WSClient
)(implicit ec: ExecutionContext)
    extends AbstractController(cc) {

  def sleep(ms: Int): Action[AnyContent] = Action.async {
    if (ms < 0 || ms > 30000) outOfBounds("ms", 0, 30000)
    else futures.delay(ms.millis).map(_ => Ok(Json.obj("slept_ms" -> ms)))
  }

  def slowApi(calls: Int, ms: Int): Action[AnyContent] = Action.async { request =>
    if (calls < 1 || calls > 50) outOfBounds("calls", 1, 50)
    else if (ms < 0 || ms > 5000) outOfBounds("ms", 0, 5000)
    else {
      val upstream = ws
        .url(settings.slowApiUrl)
        .addHttpHeaders(request.headers.get("X-Request-Id").map("X-Request-Id" -> _).toSeq: _*)
        .withFollowRedirects(false)
        .withRequestTimeout(ms.millis + 5.seconds)
      val results = Future.traverse((0 until calls).toList) { number =>
        upstream
          .addQueryStringParameters("call" -> number.toString, "ms" -> ms.toString)
          .get()
          .collect { case response if response.status == OK => response.json.as[JsObject] }
      }
      results.map(results => Ok(Json.obj("results" -> results))).recover {
        case _: TimeoutException => Problem(GATEWAY_TIMEOUT)
        case NonFatal(_)         => Problem(BAD_GATEWAY)
      }
    }
  }

  private def outOfBounds(name: String, low: Int, high: Int) =
    Future.successful(Problem(BAD_REQUEST, s"$name must be an integer from $low to $high"))
}
