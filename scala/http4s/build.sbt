lazy val root = (project in file("."))
  .enablePlugins(JavaAppPackaging)
  .settings(
    name := "http4s",
    scalaVersion := "3.8.4",
    scalacOptions ++= Seq("-deprecation", "-feature", "-Werror", "-Wunused:all"),
    libraryDependencies ++= Seq(
      "ch.qos.logback" % "logback-classic" % "1.5.38",
      "co.fs2" %% "fs2-reactive-streams" % "3.13.0",
      "io.github.cdimascio" % "dotenv-java" % "3.2.0",
      "io.github.iltotore" %% "iron-circe" % "3.3.2",
      "is.cir" %% "ciris" % "3.15.0",
      "org.http4s" %% "http4s-circe" % "0.23.37",
      "org.http4s" %% "http4s-dsl" % "0.23.37",
      "org.http4s" %% "http4s-ember-client" % "0.23.34", // mirrors of Maven Central may lack its 0.23.37
      "org.http4s" %% "http4s-ember-server" % "0.23.37",
      "org.mongodb.scala" %% "mongo-scala-driver" % "5.7.0",
      "org.postgresql" % "postgresql" % "42.7.14",
      "org.tpolecat" %% "doobie-hikari" % "1.0.0-RC12",
      "org.typelevel" %% "log4cats-slf4j" % "2.8.0",
      "org.typelevel" %% "munit-cats-effect" % "2.1.0" % Test
    ),
    Test / fork := true,
    Compile / doc / sources := Seq.empty,
    bashScriptExtraDefines += "export LC_ALL=C.UTF-8"
  )
