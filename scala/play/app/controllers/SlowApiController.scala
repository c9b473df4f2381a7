package controllers

import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.TimeoutException
import scala.concurrent.duration._
import scala.util.control.NonFatal

import models.Calls
import models.Delay
import play.api.libs.json._
import play.api.libs.ws.WSClient
import play.api.mvc._

final class SlowApiController(ws: WSClient, url: String, cc: ControllerComponents)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def call(calls: Calls, ms: Delay): Action[AnyContent] = Action.async { request =>
    val slowApi = ws
      .url(url)
      .withHttpHeaders(request.headers.get("X-Request-Id").map("X-Request-Id" -> _).toSeq: _*)
      .withFollowRedirects(false)
      .withRequestTimeout(ms.ms.millis + 5.seconds)

    val results = Future.traverse((0 until calls.count).toList) { number =>
      slowApi
        .withQueryStringParameters("call" -> number.toString, "ms" -> ms.ms.toString)
        .get()
        .collect { case response if response.status == OK => response.json.as[JsObject] }
    }

    results.map(results => Ok(Json.obj("results" -> results))).recover {
      case _: TimeoutException => Problem(GATEWAY_TIMEOUT)
      case NonFatal(_)         => Problem(BAD_GATEWAY)
    }
  }
}
