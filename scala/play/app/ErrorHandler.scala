import java.sql.{SQLException, SQLTransientConnectionException}

import scala.concurrent.Future

import controllers.Problem
import play.api.Logging
import play.api.http.HttpErrorHandler
import play.api.http.Status._
import play.api.mvc.{RequestHeader, Result}
import reactivemongo.core.errors.{DatabaseException, ReactiveMongoException}

class ErrorHandler extends HttpErrorHandler with Logging {

  def onClientError(request: RequestHeader, status: Int, message: String): Future[Result] =
    Future.successful {
      if (status == BAD_REQUEST) Problem(status, message) else Problem(status)
    }

  def onServerError(request: RequestHeader, error: Throwable): Future[Result] =
    Future.successful {
      if (isAway(error)) {
        logger.error(s"${request.path}: ${error.getMessage}")
        Problem(SERVICE_UNAVAILABLE)
      } else {
        logger.error(request.path, error)
        Problem(INTERNAL_SERVER_ERROR)
      }
    }

  /** Whether a database is away: SQL states 08 and 57P are lost connections and shutdowns. */
  private def isAway(error: Throwable) = error match {
    case _: DatabaseException => false // MongoDB's own answer
    case _: ReactiveMongoException | _: SQLTransientConnectionException => true
    case error: SQLException => Option(error.getSQLState).exists(_.matches("(08|57P).*"))
    case _                   => false
  }
}
