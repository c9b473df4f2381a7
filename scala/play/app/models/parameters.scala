package models

import play.api.mvc.QueryStringBindable

final case class Slug(value: String)
final case class Pause(ms: Int)
final case class Calls(count: Int)
final case class Delay(ms: Int)

object Slug {
  implicit val binder: QueryStringBindable[Slug] =
    Once("must be small or big") { case slug @ ("small" | "big") => Slug(slug) }(_.value)
}

object Pause {
  implicit val binder: QueryStringBindable[Pause] = Once.integer(0, 30000)(Pause(_))(_.ms)
}

object Calls {
  implicit val binder: QueryStringBindable[Calls] = Once.integer(1, 50)(Calls(_))(_.count)
}

object Delay {
  implicit val binder: QueryStringBindable[Delay] = Once.integer(0, 5000)(Delay(_))(_.ms)
}

/** Binds query parameters that may not be given twice. */
private object Once {

  def apply[A](rule: String)(read: PartialFunction[String, A])(write: A => Any) =
    new QueryStringBindable[A] {
      def bind(key: String, params: Map[String, Seq[String]]): Option[Either[String, A]] =
        params.get(key).map {
          case Seq(read(value)) => Right(value)
          case _                => Left(s"$key $rule")
        }
      def unbind(key: String, value: A): String = s"$key=${write(value)}"
    }

  def integer[A](low: Int, high: Int)(make: Int => A)(write: A => Any) =
    apply(s"must be an integer from $low to $high") {
      case text if text.matches("[0-9]{1,5}") && low <= text.toInt && text.toInt <= high =>
        make(text.toInt)
    }(write)
}
