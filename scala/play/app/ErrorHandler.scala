import java.sql.{SQLException, SQLTransientConnectionException}
import java.util.concurrent.TimeoutException

import scala.concurrent.Future

import controllers.Problem
import org.apache.pekko.http.scaladsl.model.EntityStreamException
import play.api.Logging
import play.api.http.HttpErrorHandler
import play.api.http.Status._
import play.api.mvc.{RequestHeader, Result}
import reactivemongo.core.errors.{DatabaseException, ReactiveMongoException}

class ErrorHandler extends HttpErrorHandler with Logging {

  def onClientError(request: RequestHeader, status: Int, message: String): Future[Result] =
    Future.successful(if (status == BAD_REQUEST) Problem(status, "detail" -> message) else Problem(status))

  def onServerError(request: RequestHeader, error: Throwable): Future[Result] =
    if (isAway(error)) {
      logger.error(s"${request.uri}: $error")
      Future.successful(Problem(SERVICE_UNAVAILABLE))
    } else if (error.isInstanceOf[EntityStreamException]) {
      onClientError(request, BAD_REQUEST, "the body breaks off")
    } else {
      logger.error(request.uri, error)
      Future.successful(Problem(INTERNAL_SERVER_ERROR))
    }

  /** Whether a database cannot be reached, is stopping, has no connection left, or is late. */
  private def isAway(error: Throwable) = error match {
    case error: DatabaseException => error.code.exists(Set(91, 189, 11600, 11602, 13436)) // MongoDB is stopping
    case _: ReactiveMongoException | _: TimeoutException | _: SQLTransientConnectionException => true
    case error: SQLException => Option(error.getSQLState).exists(_.matches("08...|53300|57P0."))
    case _                   => false
  }
}
