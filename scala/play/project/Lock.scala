import java.security.MessageDigest

import sbt._
import sbt.Keys._

import com.typesafe.sbt.packager.universal.UniversalPlugin.autoImport.stage

/** Every jar that is shipped, with its hash: `lock` writes them down, `stage` checks them. */
object Lock {
  private val file = settingKey[File]("Where the jars are written down")
  private val jars = taskKey[Seq[String]]("The jars that are shipped, with their hashes")
  private val check = taskKey[Unit]("Compares the jars with those that are written down")
  val lock = taskKey[Unit]("Writes the jars down")

  val settings: Seq[Setting[_]] = Seq(
    file := baseDirectory.value / "build.sbt.lock",
    jars := (Runtime / externalDependencyClasspath).value.map { jar =>
      val module = jar.get(moduleID.key).get
      s"${module.organization}:${module.name}:${module.revision} ${sha256(jar.data)}"
    }.sorted,
    lock := IO.writeLines(file.value, jars.value),
    check := {
      val differing = jars.value.diff(IO.readLines(file.value)) ++
        IO.readLines(file.value).diff(jars.value)
      if (differing.nonEmpty)
        sys.error(differing.mkString(s"not as in ${file.value.getName}:\n", "\n", ""))
    },
    stage := stage.dependsOn(check).value
  )

  private def sha256(jar: File) =
    MessageDigest.getInstance("SHA-256").digest(IO.readBytes(jar)).map("%02x".format(_)).mkString
}
