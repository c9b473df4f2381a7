package models

import play.api.mvc.QueryStringBindable

/** Binds a query parameter that must be there once and obey a rule. */
abstract class Binder[A](rule: String)(read: PartialFunction[String, A])(write: A => Any)
    extends QueryStringBindable[A] {

  def bind(key: String, params: Map[String, Seq[String]]): Option[Either[String, A]] =
    params.get(key).map {
      case Seq(read(value)) => Right(value)
      case _                => Left(s"$key $rule")
    }

  def unbind(key: String, value: A): String = s"$key=${write(value)}"
}

abstract class IntegerBinder[A](low: Int, high: Int)(make: Int => A)(write: A => Int)
    extends Binder(s"must be an integer from $low to $high")({
      case text if text.matches("[0-9]{1,5}") && low <= text.toInt && text.toInt <= high =>
        make(text.toInt)
    })(write)

final case class Slug(value: String)

object Slug {
  implicit object binder
      extends Binder[Slug]("must be small or big")({ case slug @ ("small" | "big") => Slug(slug) })(
        _.value
      )
}

final case class Pause(ms: Int)

object Pause {
  implicit object binder extends IntegerBinder(0, 30000)(Pause(_))(_.ms)
}

final case class Calls(count: Int)

object Calls {
  implicit object binder extends IntegerBinder(1, 50)(Calls(_))(_.count)
}

final case class Delay(ms: Int)

object Delay {
  implicit object binder extends IntegerBinder(0, 5000)(Delay(_))(_.ms)
}
