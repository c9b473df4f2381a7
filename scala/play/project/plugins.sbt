addSbtPlugin("org.playframework" % "sbt-plugin" % "3.0.11")
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
