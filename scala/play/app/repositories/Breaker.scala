package repositories

import java.sql.SQLException
import java.sql.SQLTransientConnectionException

import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.TimeoutException
import scala.concurrent.duration._
import scala.util.Failure
import scala.util.Try

import org.apache.pekko.actor.Scheduler
import org.apache.pekko.pattern.CircuitBreaker
import org.apache.pekko.pattern.CircuitBreakerOpenException
import reactivemongo.core.errors.ReactiveMongoException

final class Unavailable(cause: Throwable) extends Exception(cause)

/** Bounds each operation on a database, and tells it from a fault of our own. */
final class Breaker(scheduler: Scheduler)(implicit ec: ExecutionContext) {
  private val breaker = new CircuitBreaker(
    scheduler,
    maxFailures = 1,
    callTimeout = 2500.millis,
    resetTimeout = 1.second
  )

  def apply[A](operation: => Future[A]): Future[A] =
    breaker.withCircuitBreaker(operation, isAway[A]).recoverWith {
      case cause @ (_: SQLException | _: ReactiveMongoException | _: TimeoutException |
          _: CircuitBreakerOpenException) =>
        Future.failed(new Unavailable(cause))
    }

  private def isAway[A](result: Try[A]) = result match {
    case Failure(_: SQLTransientConnectionException) => true
    case _                                           => false
  }
}
