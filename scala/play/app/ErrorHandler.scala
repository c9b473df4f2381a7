import scala.concurrent.Future

import controllers.Problem
import play.api.Logging
import play.api.http.HttpErrorHandler
import play.api.http.HttpVerbs
import play.api.http.HeaderNames._
import play.api.http.Status._
import play.api.mvc.RequestHeader
import play.api.mvc.Result
import play.api.routing.Router
import repositories.Unavailable

final class ErrorHandler(router: => Router) extends HttpErrorHandler with Logging {

  def onClientError(request: RequestHeader, status: Int, message: String): Future[Result] =
    Future.successful {
      status match {
        case BAD_REQUEST                         => Problem(status, message)
        case NOT_FOUND if isWrongMethod(request) =>
          Problem(METHOD_NOT_ALLOWED).withHeaders(ALLOW -> "GET, HEAD")
        case _ => Problem(status)
      }
    }

  def onServerError(request: RequestHeader, exception: Throwable): Future[Result] =
    Future.successful {
      exception match {
        case _: Unavailable =>
          Problem(SERVICE_UNAVAILABLE).withHeaders(RETRY_AFTER -> "1")
        case _ =>
          logger.error(s"${request.method} ${request.path}", exception)
          Problem(INTERNAL_SERVER_ERROR)
      }
    }

  // Play's router has no 405: what it does not find may be there for GET
  private def isWrongMethod(request: RequestHeader) =
    router.handlerFor(request.withMethod(HttpVerbs.GET)).isDefined
}
