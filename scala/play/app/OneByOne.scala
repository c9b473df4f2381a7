import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import io.netty.channel.ChannelDuplexHandler
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandler
import io.netty.channel.ChannelPromise
import io.netty.handler.codec.http.HttpRequest

/** Hands a connection's requests to Play one by one: it answers them on several threads, so that
  * the answer to one could overtake another's.
  */
final class OneByOne(play: ChannelInboundHandler, inFlight: AtomicInteger)
    extends ChannelDuplexHandler {
  private val waiting = mutable.Queue.empty[HttpRequest]
  private var busy = false

  override def handlerAdded(context: ChannelHandlerContext): Unit = {
    context.pipeline.replace("decoder", "decoder", new StrictDecoder)
    context.pipeline.addLast(play)
  }

  override def channelRead(context: ChannelHandlerContext, message: Any): Unit = message match {
    case request: HttpRequest =>
      request.setUri(request.uri.replace(";", "%3B")) // Netty takes it for an ampersand
      if (busy) waiting.enqueue(request) else start(context, request)
    case _ => context.fireChannelRead(message)
  }

  override def read(context: ChannelHandlerContext): Unit = if (waiting.isEmpty) context.read()

  override def write(context: ChannelHandlerContext, message: Any, end: ChannelPromise): Unit = {
    end.addListener { (_: io.netty.util.concurrent.Future[_ >: Void]) =>
      finish()
      if (waiting.nonEmpty && context.channel.isActive) start(context, waiting.dequeue())
    }
    context.write(message, end)
  }

  override def channelInactive(context: ChannelHandlerContext): Unit = {
    finish()
    context.fireChannelInactive()
  }

  private def start(context: ChannelHandlerContext, request: HttpRequest): Unit = {
    busy = true
    inFlight.incrementAndGet()
    context.fireChannelRead(request)
  }

  private def finish(): Unit = if (busy) {
    busy = false
    inFlight.decrementAndGet()
  }
}
