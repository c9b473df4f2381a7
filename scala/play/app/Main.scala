import java.util.UUID

import io.github.cdimascio.dotenv.Dotenv
import models.Settings
import play.api.{Configuration, Environment, Mode}
import play.core.server.ProdServerStart

/** Starts Play in production, with .env's settings where the environment has none. */
object Main {
  def main(arguments: Array[String]): Unit = {
    val dotenv = readDotenv()
    // For one process: what several sign needs a secret that they share
    if (dotenv.get("APPLICATION_SECRET") == null) sys.props("APPLICATION_SECRET") = UUID.randomUUID.toString

    val faults = new Settings(Configuration.load(Environment.simple(mode = Mode.Prod))).faults
    faults.foreach(Console.err.println)
    if (faults.isEmpty) ProdServerStart.main(arguments) else sys.exit(1)
  }

  def readDotenv(): Dotenv = {
    val dotenv = Dotenv.configure().ignoreIfMissing().systemProperties().load()
    sys.props --= sys.env.keys // the environment wins
    dotenv
  }
}
