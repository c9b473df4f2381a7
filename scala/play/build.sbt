lazy val play = (project in file("."))
  .enablePlugins(PlayService, PlayLayoutPlugin, RoutesCompiler)
  .disablePlugins(PlayFilters, PlayPekkoHttpServer)
  .settings(
    scalaVersion := "2.13.18",
    scalacOptions ++= Seq("-deprecation", "-Xlint", "-Werror", "-Wconf:src=routes/.*:s"),
    libraryDependencies ++= Seq(
      ws,
      "org.playframework" %% "play-netty-server" % "3.0.8",
      "org.reactivemongo" %% "play2-reactivemongo" % "1.1.0-play30.RC13",
      "org.playframework.anorm" %% "anorm" % "2.7.0",
      "com.zaxxer" % "HikariCP" % "6.3.3",
      "org.postgresql" % "postgresql" % "42.7.14"
    ),
    routesImport += "models._",
    Compile / mainClass := Some("Main"),
    Compile / doc / sources := Nil,
    Universal / javaOptions ++= Seq("-J-Xms512m", "-J-Xmx512m", "-J-XX:+AlwaysPreTouch"),
    // The JVM takes the encoding of file names from the locale; Play's own line moves to its folder
    bashScriptExtraDefines := Seq("export LC_ALL=C.UTF-8")
  )
