import java.net.URI
import java.nio.file.Path

import scala.concurrent.Await
import scala.concurrent.ExecutionContext
import scala.concurrent.Future
import scala.concurrent.duration._

import com.zaxxer.hikari.HikariConfig
import com.zaxxer.hikari.HikariDataSource
import controllers._
import play.api._
import play.api.libs.concurrent.CustomExecutionContext
import play.api.libs.concurrent.DefaultFutures
import play.api.libs.ws.ahc.AhcWSComponents
import play.modules.reactivemongo.ReactiveMongoApiComponents
import reactivemongo.api.MongoConnection
import repositories._
import router.Routes

final class AppLoader extends ApplicationLoader {
  def load(context: ApplicationLoader.Context): Application = {
    LoggerConfigurator(context.environment.classLoader).foreach {
      _.configure(context.environment, context.initialConfiguration, Map.empty)
    }
    new AppComponents(context).application
  }
}

final class AppComponents(context: ApplicationLoader.Context)
    extends BuiltInComponentsFromContext(context)
    with ReactiveMongoApiComponents
    with AhcWSComponents
    with NoHttpFiltersComponents {

  val name = "default"
  protected implicit lazy val ec: ExecutionContext = executionContext

  lazy val parsedUri: MongoConnection.ParsedURIWithDB = {
    val url = configuration.get[String]("mongodb.url")
    val options = Seq(
      s"rm.nbChannelsPerNode=${configuration.get[Int]("mongodb.pool-size")}",
      "rm.tcpNoDelay=true",
      "rm.failover=100ms:4x1.25", // tries for 1.5 s
      "connectTimeoutMS=2000",
      "heartbeatFrequencyMS=2000",
      s"rm.maxNonQueryableHeartbeats=${Int.MaxValue}" // the driver gives a node up after so many
    )
    val separator = if (url.contains('?')) '&' else '?'
    Await.result(
      MongoConnection.fromStringWithDB(options.mkString(s"$url$separator", "&", "")),
      5.seconds
    )
  }
  lazy val dbName: String = parsedUri.db

  lazy val database: HikariDataSource = {
    val url = new URI(configuration.get[String]("database.url"))
    val config = new HikariConfig
    val query = Option(url.getRawQuery).fold("")("?" + _)
    // PostgreSQL's JDBC driver takes no user in its URL
    config.setJdbcUrl(
      s"jdbc:postgresql://${url.getRawAuthority.split('@').last}${url.getRawPath}$query"
    )
    Option(url.getUserInfo).map(_.split(":", 2)).foreach { user =>
      config.setUsername(user.head)
      user.lift(1).foreach(config.setPassword)
    }
    config.setMaximumPoolSize(configuration.get[Int]("database.pool-size"))
    config.setMinimumIdle(0)
    config.setInitializationFailTimeout(-1)
    config.setConnectionTimeout(2000)
    config.setValidationTimeout(1000)
    config.addDataSourceProperty("loginTimeout", "1")
    config.addDataSourceProperty("socketTimeout", "2")
    new HikariDataSource(config)
  }
  applicationLifecycle.addStopHook(() => Future.successful(database.close()))

  private lazy val databaseDispatcher =
    new CustomExecutionContext(actorSystem, "database.dispatcher") {}

  reactiveMongoApi.connection // connects now, not at the first request

  private lazy val mongoBreaker = new Breaker("MongoDB", actorSystem.scheduler)

  override lazy val httpErrorHandler: ErrorHandler = new ErrorHandler(router)

  val router: Routes = new Routes(
    httpErrorHandler,
    new HelloController(controllerComponents),
    new ArticleController(
      new MongoArticleRepository(reactiveMongoApi, mongoBreaker),
      controllerComponents
    ),
    new AgentController(
      new PostgresAgentRepository(
        database,
        databaseDispatcher,
        new Breaker("PostgreSQL", actorSystem.scheduler)
      ),
      controllerComponents
    ),
    new FileController(
      Path.of(configuration.get[String]("files.dir")).toRealPath(),
      controllerComponents
    ),
    new StoredFileController(
      new GridFsStoredFileRepository(reactiveMongoApi, mongoBreaker),
      controllerComponents
    ),
    new SleepController(new DefaultFutures(actorSystem), controllerComponents),
    new SlowApiController(wsClient, configuration.get[String]("slow-api.url"), controllerComponents)
  )
}
