import java.security.SecureRandom

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.github.cdimascio.dotenv.Dotenv
import models.Settings
import play.api.{Configuration, Environment, Mode}
import play.core.server.ProdServerStart

/** Starts Play in production, with .env's settings where the environment has none. */
object Main {
  def main(arguments: Array[String]): Unit = {
    val dotenv = readDotenv()
    if (dotenv.get("APPLICATION_SECRET") == null) sys.props("APPLICATION_SECRET") = newSecret()

    val faults = new Settings(Configuration.load(Environment.simple(mode = Mode.Prod))).faults
    faults.foreach(Console.err.println)
    if (faults.isEmpty) ProdServerStart.main(arguments) else sys.exit(1)
  }

  /** Makes properties of .env's settings; the environment wins. */
  def readDotenv(): Dotenv = {
    val dotenv = Dotenv.configure().ignoreIfMissing().load()
    val names = dotenv.entries(Dotenv.Filter.DECLARED_IN_ENV_FILE).asScala.map(_.getKey)
    for (name <- names) sys.props(name) = dotenv.get(name)
    dotenv
  }

  /** For one process: what several sign needs a secret that they share. */
  private def newSecret() = new Random(new SecureRandom()).alphanumeric.take(64).mkString
}
