package repositories

import java.sql.SQLException
import java.sql.SQLTransientConnectionException

import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.TimeoutException
import scala.concurrent.duration._
import scala.util.Failure
import scala.util.Try
import scala.util.control.NoStackTrace

import org.apache.pekko.actor.Scheduler
import org.apache.pekko.pattern.CircuitBreaker
import org.apache.pekko.pattern.CircuitBreakerOpenException
import play.api.Logging
import reactivemongo.core.errors.DatabaseException
import reactivemongo.core.errors.ReactiveMongoException

/** A database cannot be reached, or takes too long. */
final class Unavailable extends Exception with NoStackTrace

object Breaker {
  val timeout: FiniteDuration = 2500.millis
}

/** Bounds each operation on a database, and tells its absence from a fault of our own. */
final class Breaker(database: String, scheduler: Scheduler)(implicit ec: ExecutionContext)
    extends Logging {

  private val breaker = new CircuitBreaker(
    scheduler,
    maxFailures = 1,
    callTimeout = Breaker.timeout,
    resetTimeout = 1.second
  )

  def apply[A](operation: => Future[A]): Future[A] =
    breaker.withCircuitBreaker(operation, isUnreachable).recoverWith {
      case _: CircuitBreakerOpenException => Future.failed(new Unavailable)
      case cause if isAway(cause)         =>
        logger.error(s"$database: ${cause.getMessage}")
        Future.failed(new Unavailable)
    }

  private val isUnreachable: Try[_] => Boolean = {
    case Failure(error: SQLTransientConnectionException) => error.getCause != null
    case _                                               => false
  }

  private def isAway(cause: Throwable) = cause match {
    case _: DatabaseException => false // MongoDB's answer
    case _: ReactiveMongoException | _: SQLTransientConnectionException | _: TimeoutException =>
      true
    // https://www.postgresql.org/docs/current/errcodes-appendix.html: connections, shutdown
    case error: SQLException => Option(error.getSQLState).exists(_.matches("08...|57P.."))
    case _                   => false
  }
}
