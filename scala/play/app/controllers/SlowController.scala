package controllers

import javax.inject.Inject

import scala.concurrent.{ExecutionContext, Future, TimeoutException}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import models.Settings
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.{Sink, Source}
import play.api.Logging
import play.api.libs.concurrent.Futures
import play.api.libs.json.{JsObject, Json}
import play.api.libs.ws.WSClient
import play.api.mvc._

class SlowController @Inject() (settings: Settings, futures: Futures, ws: WSClient)(implicit
    ec: ExecutionContext,
    materializer: Materializer
) extends InjectedController
    with Logging {

  def sleep(ms: Int): Action[AnyContent] = Action.async {
    if (ms < 0 || ms > 30000) outOfBounds("ms", 0, 30000)
    else futures.delay(ms.millis).map(_ => Ok(Json.obj("slept_ms" -> ms)))
  }

  def slowApi(calls: Int, ms: Int): Action[AnyContent] = Action.async { request =>
    if (calls < 1 || calls > 50) outOfBounds("calls", 1, 50)
    else if (ms < 0 || ms > 5000) outOfBounds("ms", 0, 5000)
    else
      Source(0 until calls)
        .mapAsync(calls)(call(_, ms, request.headers.get("X-Request-Id")))
        .runWith(Sink.seq)
        .map(results => Ok(Json.obj("results" -> results)))
        .recover { case NonFatal(error) =>
          logger.error(s"${request.uri}: $error")
          Problem(if (error.isInstanceOf[TimeoutException]) GATEWAY_TIMEOUT else BAD_GATEWAY)
        }
  }

  private def call(number: Int, ms: Int, id: Option[String]): Future[JsObject] =
    ws.url(settings.slowApiUrl)
      .addQueryStringParameters("call" -> number.toString, "ms" -> ms.toString)
      .addHttpHeaders(id.map("X-Request-Id" -> _).toSeq: _*)
      .withFollowRedirects(false)
      .withRequestTimeout(ms.millis + 5.seconds)
      .get()
      .map { response =>
        require(response.status == OK, s"the upstream answered ${response.status}")
        response.json.as[JsObject]
      }

  private def outOfBounds(name: String, low: Int, high: Int) =
    Future.successful(Problem(BAD_REQUEST, "detail" -> s"$name must be an integer from $low to $high"))
}
