lazy val root = (project in file("."))
  .enablePlugins(PlayScala)
  .settings(
    name := "play",
    scalaVersion := "2.13.18",
    scalacOptions ++= Seq("-deprecation", "-feature", "-Werror"),
    libraryDependencies ++= Seq(
      guice,
      ws,
      "org.playframework" %% "play-jdbc" % "3.0.9", // the newest on Maven Central
      "org.playframework.anorm" %% "anorm" % "2.7.0",
      "org.postgresql" % "postgresql" % "42.7.14",
      "org.reactivemongo" %% "play2-reactivemongo" % "1.1.0-play30.RC13",
      "org.scalatestplus.play" %% "scalatestplus-play" % "7.0.2" % Test
    ),
    routesImport += "controllers.Binders._",
    Compile / doc / sources := Seq.empty
  )
