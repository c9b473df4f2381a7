import scala.jdk.CollectionConverters._

import io.netty.buffer.ByteBuf
import io.netty.channel.ChannelHandlerContext
import io.netty.handler.codec.http.HttpHeaderNames._
import io.netty.handler.codec.http.HttpMessage
import io.netty.handler.codec.http.HttpRequestDecoder
import io.netty.handler.codec.http.LastHttpContent

/** Refuses a body whose length is ambiguous, which could smuggle a request, and a control character
  * where a request should start, after which Netty would wait for one.
  */
final class StrictDecoder extends HttpRequestDecoder {
  private var between = true

  override def decode(
      context: ChannelHandlerContext,
      in: ByteBuf,
      out: java.util.List[AnyRef]
  ): Unit = {
    val first = in.getByte(in.readerIndex)
    if (between && Character.isISOControl(first.toInt) && first != '\r' && first != '\n') {
      in.skipBytes(in.readableBytes)
      context.close()
    } else {
      super.decode(context, in, out)
      between = !out.isEmpty && out.get(out.size - 1).isInstanceOf[LastHttpContent]
    }
  }

  // Called between the headers and the body
  override def isContentAlwaysEmpty(message: HttpMessage): Boolean = {
    val headers = message.headers
    if (headers.contains(TRANSFER_ENCODING)) {
      val codings = headers.getAll(TRANSFER_ENCODING).asScala.map(_.toLowerCase)
      if (codings != Seq("chunked") || headers.contains(CONTENT_LENGTH))
        throw new IllegalArgumentException("the body's length is ambiguous")
    }
    super.isContentAlwaysEmpty(message)
  }
}
