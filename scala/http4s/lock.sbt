// Each jar that ships, with its hash: `sbt lock` writes them down, `sbt stage` accepts no others

val jars = taskKey[Seq[String]]("The jars that ship, with their hashes")
val lock = taskKey[Unit]("Writes the jars to build.sbt.lock")
val checkLock = taskKey[Unit]("Compares the jars with build.sbt.lock")
val lockFile = file("build.sbt.lock")

jars := (Runtime / externalDependencyClasspath).value.map { jar =>
  val module = jar.get(moduleID.key).get
  val hash = java.security.MessageDigest.getInstance("SHA-256").digest(IO.readBytes(jar.data))
  s"${module.organization}:${module.name}:${module.revision} ${hash.map("%02x".format(_)).mkString}"
}.sorted

lock := IO.writeLines(lockFile, jars.value)

checkLock := {
  val locked = IO.readLines(lockFile)
  val differing = jars.value.diff(locked) ++ locked.diff(jars.value)
  if (differing.nonEmpty)
    throw new MessageOnlyException(differing.mkString(s"not as in $lockFile:\n", "\n", ""))
}

stage := stage.dependsOn(checkLock).value
