import models.Settings
import play.api.ApplicationLoader.Context
import play.api.inject.bind
import play.api.inject.guice.{GuiceApplicationBuilder, GuiceApplicationLoader}

/** Passes the settings on to Play's modules. */
class Loader extends GuiceApplicationLoader {
  override protected def builder(context: Context): GuiceApplicationBuilder = {
    val settings = new Settings(context.initialConfiguration)
    super.builder(context).configure(settings.modules).bindings(bind[Settings].toInstance(settings))
  }
}
