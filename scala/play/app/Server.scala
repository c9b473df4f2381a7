import org.apache.pekko.event.LoggingAdapter
import org.apache.pekko.http.ParsingErrorHandler
import org.apache.pekko.http.scaladsl.model.ErrorInfo
import org.apache.pekko.http.scaladsl.model.HttpMethod
import org.apache.pekko.http.scaladsl.model.HttpResponse
import org.apache.pekko.http.scaladsl.model.StatusCode
import org.apache.pekko.http.scaladsl.settings.ParserSettings
import org.apache.pekko.http.scaladsl.settings.ServerSettings
import play.core.server.PekkoHttpServer
import play.core.server.PekkoHttpServerProvider
import play.core.server.ServerProvider

/** Pekko HTTP with a method that it does not know yet, so that Play can answer it. */
final class Server(context: PekkoHttpServer.Context) extends PekkoHttpServer(context) {
  override protected def createParserSettings(): ParserSettings =
    super.createParserSettings().withCustomMethods(HttpMethod.custom("QUERY"))
}

final class Provider extends PekkoHttpServerProvider {
  override def createServer(context: ServerProvider.Context): PekkoHttpServer =
    new Server(PekkoHttpServer.Context.fromServerProviderContext(context))
}

/** Answers what cannot be parsed without a body: it may have been a HEAD. */
object UnparsableHandler extends ParsingErrorHandler {
  override def handle(
      status: StatusCode,
      info: ErrorInfo,
      log: LoggingAdapter,
      settings: ServerSettings
  ): HttpResponse = HttpResponse(status)
}
