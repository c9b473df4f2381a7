import models.Settings
import play.api.ApplicationLoader.Context
import play.api.inject.bind
import play.api.inject.guice.{GuiceApplicationBuilder, GuiceApplicationLoader}

/** Passes the settings on to Play's modules, if none is wrong. */
class Loader extends GuiceApplicationLoader {
  override protected def builder(context: Context): GuiceApplicationBuilder = {
    val settings = new Settings(context.initialConfiguration)
    for (fault <- settings.faults.headOption) throw context.initialConfiguration.globalError(fault)
    super.builder(context).configure(settings.modules).bindings(bind[Settings].toInstance(settings))
  }
}
