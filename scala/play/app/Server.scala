import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.duration._

import io.netty.channel.ChannelInboundHandler
import org.apache.pekko.Done
import org.apache.pekko.actor.CoordinatedShutdown
import org.apache.pekko.pattern.after
import play.core.server.NettyServer
import play.core.server.ServerProvider

final class Provider extends ServerProvider {
  def createServer(context: ServerProvider.Context): Server = new Server(context)
}

/** Play's Netty server, which finishes what is in flight before it stops. */
final class Server(context: ServerProvider.Context)
    extends NettyServer(
      context.config,
      context.appProvider,
      context.stopHook,
      context.actorSystem
    )(context.materializer) {

  private lazy val inFlight = new AtomicInteger // lazy: NettyServer listens before it is made

  override protected[this] def newRequestHandler(): ChannelInboundHandler =
    new OneByOne(super.newRequestHandler(), inFlight)

  // In the phase after this one Play closes all connections
  CoordinatedShutdown(actorSystem)
    .addTask(CoordinatedShutdown.PhaseServiceUnbind, "requests")(() => finished())

  private def finished(): Future[Done] = {
    implicit val ec: ExecutionContext = actorSystem.dispatcher
    if (inFlight.get == 0) Future.successful(Done)
    else after(100.millis, actorSystem.scheduler)(finished())
  }
}
