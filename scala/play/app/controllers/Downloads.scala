package controllers

import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.duration._

import org.apache.pekko.Done
import org.apache.pekko.NotUsed
import org.apache.pekko.actor.CoordinatedShutdown
import org.apache.pekko.actor.Scheduler
import org.apache.pekko.pattern.after
import org.apache.pekko.stream.scaladsl.Source

/** Lets the bodies that are being streamed be finished at the end, for which Pekko HTTP does not
  * wait: https://github.com/akka/akka-http/issues/3209
  */
final class Downloads(shutdown: CoordinatedShutdown, scheduler: Scheduler)(implicit
    ec: ExecutionContext
) {
  private val open = new AtomicInteger

  shutdown.addTask(CoordinatedShutdown.PhaseServiceUnbind, "downloads") { () =>
    if (open.get == 0) Future.successful(Done) else finished()
  }

  def apply[A](body: Source[A, _]): Source[A, NotUsed] =
    body.watchTermination() { (_, end) =>
      open.incrementAndGet()
      end.onComplete(_ => open.decrementAndGet())
      NotUsed
    }

  // The last bytes stay in the kernel's buffers for a while, and would be lost with the connection
  private def finished(): Future[Done] = after(500.millis, scheduler) {
    if (open.get == 0) after(500.millis, scheduler)(Future.successful(Done)) else finished()
  }
}
