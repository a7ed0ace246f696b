"""Functions of dates, times, instants and durations: ``col("x").dt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from tickframe.expr import Expr

__all__ = ["DatetimeNamespace"]


@check_all
class DatetimeNamespace(Namespace):
    """Functions of dates, times, instants and durations: ``col("x").dt``. Parts follow the column's zone."""

    __slots__ = ()
    _PREFIX = "dt"

    def year(self) -> Expr:
        """The year."""
        return self._call("year")

    def quarter(self) -> Expr:
        """The quarter, 1 to 4."""
        return self._call("quarter")

    def month(self) -> Expr:
        """The month, 1 to 12."""
        return self._call("month")

    def week(self) -> Expr:
        """The ISO week, 1 to 53."""
        return self._call("week")

    def weekday(self) -> Expr:
        """The day of the week, Monday 1 to Sunday 7."""
        return self._call("weekday")

    def ordinal_day(self) -> Expr:
        """The day of the year, from 1."""
        return self._call("ordinal_day")

    def day(self) -> Expr:
        """The day of the month, from 1."""
        return self._call("day")

    def hour(self) -> Expr:
        """The hour, 0 to 23."""
        return self._call("hour")

    def minute(self) -> Expr:
        """The minute."""
        return self._call("minute")

    def second(self) -> Expr:
        """The second."""
        return self._call("second")

    def millisecond(self) -> Expr:
        """The milliseconds of the second."""
        return self._call("millisecond")

    def microsecond(self) -> Expr:
        """The microseconds of the second."""
        return self._call("microsecond")

    def nanosecond(self) -> Expr:
        """The nanoseconds of the second."""
        return self._call("nanosecond")

    def date(self) -> Expr:
        """The date."""
        return self._call("date")

    def time(self) -> Expr:
        """The time of the day."""
        return self._call("time")

    def truncate(self, every: object) -> Expr:
        """The start of the window it lies in: ``"15m"``, ``"1h"``, ``"1d"``, ``"1mo"`` or a timedelta."""
        return self._call("truncate", every)

    def round(self, every: object) -> Expr:
        """The nearest start of a window."""
        return self._call("round", every)

    def offset_by(self, by: object) -> Expr:
        """Moved by a calendar period: ``"1mo"``, ``"-2d"``."""
        return self._call("offset_by", by)

    def strftime(self, format: str) -> Expr:
        """As text."""
        return self._call("strftime", format)

    def total_days(self) -> Expr:
        """Whole days of a duration."""
        return self._call("total_days")

    def total_hours(self) -> Expr:
        """Whole hours of a duration."""
        return self._call("total_hours")

    def total_minutes(self) -> Expr:
        """Whole minutes of a duration."""
        return self._call("total_minutes")

    def total_seconds(self) -> Expr:
        """Whole seconds of a duration."""
        return self._call("total_seconds")

    def total_milliseconds(self) -> Expr:
        """Whole milliseconds of a duration."""
        return self._call("total_milliseconds")

    def total_microseconds(self) -> Expr:
        """Whole microseconds of a duration."""
        return self._call("total_microseconds")

    def total_nanoseconds(self) -> Expr:
        """Nanoseconds of a duration."""
        return self._call("total_nanoseconds")

    def epoch(self, unit: str = "us") -> Expr:
        """Since 1970-01-01, in ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; ``"d"`` for days."""
        return self._call("epoch", unit)

    def convert_time_zone(self, zone: str) -> Expr:
        """The same instant, shown in another zone."""
        return self._call("convert_time_zone", zone)

    def replace_time_zone(self, zone: str | None) -> Expr:
        """The same wall-clock time in another zone; None takes the zone away."""
        return self._call("replace_time_zone", zone)

    def bin(self, width: object, offset: object = None) -> Expr:
        """The start of the bin of this width; widths as in `truncate`, or nanoseconds."""
        return self._expr.lower_bin(width, offset)

    def combine(self, time: object) -> Expr:
        """The date at another time of the day: a ``datetime.time`` or a column of times. An instant stays in its zone."""
        return self._call("combine", time)

    def days_in_month(self) -> Expr:
        """The number of days of the month, 28 to 31."""
        return self._call("days_in_month")

    def is_leap_year(self) -> Expr:
        """Whether the year has 366 days."""
        return self._call("is_leap_year")

    def iso_year(self) -> Expr:
        """The year of the ISO week."""
        return self._call("iso_year")

    def century(self) -> Expr:
        """The century: 2001 to 2100 are in the 21st."""
        return self._call("century")

    def millennium(self) -> Expr:
        """The millennium: 2001 to 3000 are in the third."""
        return self._call("millennium")

    def month_start(self) -> Expr:
        """The first day of the month."""
        return self._call("month_start")

    def month_end(self) -> Expr:
        """The last day of the month."""
        return self._call("month_end")
