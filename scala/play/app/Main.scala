import java.net.InetAddress
import java.net.URI
import java.nio.file.Files
import java.nio.file.Path
import java.security.SecureRandom
import java.util.HexFormat

import scala.util.Try

import play.core.server.ProdServerStart
import sun.misc.Signal

object Main {

  def main(args: Array[String]): Unit = {
    faults(sys.env).foreach { fault =>
      System.err.println(s"bad setting: $fault")
      sys.exit(2)
    }
    if (!sys.env.contains("APPLICATION_SECRET")) sys.props("play.http.secret.key") = secret()
    Seq("TERM", "INT").foreach(name => Signal.handle(new Signal(name), _ => stop()))
    ProdServerStart.main(args)
  }

  /** Runs Play's shutdown hook, 10 s at most; the JVM's own handlers end with 143 and 130. */
  private def stop(): Unit = {
    new Thread(() => sys.exit(0)).start()
    Thread.sleep(10000)
    Runtime.getRuntime.halt(0)
  }

  private def faults(settings: Map[String, String]): Option[String] = {
    def number(name: String, highest: Int) = settings.get(name).collect {
      case text if !text.matches("[0-9]{1,5}") || text.toInt < 1 || text.toInt > highest =>
        s"$name must be a number from 1 to $highest, not '$text'"
    }
    def url(name: String, schemes: String*) = settings.get(name).collect {
      case text if !Try(new URI(text)).toOption.exists { url =>
            schemes.contains(url.getScheme) && url.getRawAuthority != null
          } =>
        s"$name must be a URL, not '$text'"
    }
    def folder(name: String) = settings.get(name).collect {
      case text if text.isEmpty || !Files.isDirectory(Path.of(text)) =>
        s"$name must be a folder, not '$text'"
    }
    def host(name: String) = settings.get(name).collect {
      case text if Try(InetAddress.getByName(text)).isFailure =>
        s"$name must be an address to listen on, not '$text'"
    }
    def required(name: String) = Option.when(!settings.contains(name))(s"$name must be set")

    Seq(
      host("HOST"),
      number("PORT", 65535),
      number("WORKERS", 1024),
      url("MONGODB_URL", "mongodb"),
      number("MONGODB_POOL_SIZE", 10000),
      url("DATABASE_URL", "postgresql"),
      number("DATABASE_POOL_SIZE", 10000),
      required("FILES_DIR"),
      folder("FILES_DIR"),
      required("SLOW_API_URL"),
      url("SLOW_API_URL", "http", "https")
    ).flatten.headOption
  }

  private def secret() = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    HexFormat.of.formatHex(bytes)
  }
}
