lazy val root = (project in file("."))
  .enablePlugins(PlayScala)
  .settings(
    name := "play",
    scalaVersion := "2.13.18",
    scalacOptions ++= Seq("-deprecation", "-feature", "-Werror"),
    libraryDependencies ++= Seq(
      guice,
      "org.playframework" %% "play-jdbc" % "3.0.9", // or jdbc: mirrors of Maven Central may lack its 3.0.11
      ws,
      "io.github.cdimascio" % "dotenv-java" % "3.2.0",
      "org.playframework.anorm" %% "anorm" % "2.7.0",
      "org.postgresql" % "postgresql" % "42.7.14",
      "org.reactivemongo" %% "play2-reactivemongo" % "1.1.0-play30.RC13",
      "org.scalatestplus.play" %% "scalatestplus-play" % "7.0.2" % Test
    ),
    routesImport += "controllers.Binders._",
    Compile / mainClass := Some("Main"),
    Compile / doc / sources := Seq.empty,
    Universal / javaOptions += "-J-Xss16m",
    // Relative paths, and .env, are of the folder in which the server is started
    bashScriptExtraDefines := Seq("""addJava "-Duser.dir=$PWD"""", "export LC_ALL=C.UTF-8")
  )
