package models

import play.api.libs.functional.syntax._
import play.api.libs.json._

final case class Note(title: String, text: String)

object Note {

  /** Java's characters are halves of some; JSON can escape a half that stands alone. */
  private def characters(least: Int, most: Int) =
    Reads.pattern(s"\\P{Cs}{$least,$most}+".r, s"must be text of $least to $most characters")

  implicit val reads: Reads[Note] = (
    (__ \ "title").read(characters(1, 200)) and
      (__ \ "text").read(characters(0, 10000))
  )(Note.apply _)
}
