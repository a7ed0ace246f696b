"""Writes docs/functions.md: every function of formulas, what it gives, and an example whose value is computed here.

A function that the language has and that stands in no row below is an error, and so is a row for what it has not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tickframe as tf
from tickframe import _native

PAGE = Path(__file__).parents[1] / "docs" / "functions.md"

#: The row that the examples are over: name, what is written on the page, type, value.
ROW = (
    ("x", "-2.5", float, -2.5),
    ("n", "7", int, 7),
    ("s", "`Live tables`", str, "Live tables"),
    ("t", "2024-02-29 13:45:30.123456789 UTC", tf.Datetime("ns", "UTC"), None),
    ("d", "2024-02-29", tf.Date, None),
    ("v", "[3, 1, null, 3]", tf.List(tf.Int64), [3, 1, None, 3]),
    ("nothing", "null", float, None),
)
MOMENT, DAY = 1709214330_123456789, 19782

#: Subject, then lines of: name | example | what it gives.
SUBJECTS: tuple[tuple[str, str, str], ...] = (
    (
        "Numbers",
        "Integers stay integers where the result is whole; `sqrt`, `log` and the like give Float64. Null gives null.",
        """
abs | abs(x) | the value without its sign
signum | signum(x) | -1, 0 or 1
sign | sign(n) | the same
sqrt | sqrt(16) | square root
cbrt | cbrt(27) | cube root
exp | exp(0) | e to the power
log | log(8, 2) | logarithm, natural without a base
log10 | log10(1000) | logarithm to base 10
log1p | log1p(0) | natural logarithm of one more
pow | pow(n, 2) | power; `n ** 2` is the same
round | round(2.25, 1) | to so many decimals; halves go to the even digit
rint | rint(x) | to a whole number; halves go to the even one
floor | floor(x) | down
ceil | ceil(x) | up
clamp | clamp(n, 0, 5) | within two bounds
sin | sin(0) | sine
cos | cos(0) | cosine
tan | tan(0) | tangent
asin | asin(0) | arc sine
acos | acos(1) | arc cosine
atan | atan(0) | arc tangent
atan2 | atan2(0, 1) | angle of the point (second, first)
sinh | sinh(0) | hyperbolic sine
cosh | cosh(0) | hyperbolic cosine
tanh | tanh(0) | hyperbolic tangent
toDegrees | toDegrees(0) | radians to degrees
toRadians | toRadians(180) | degrees to radians
min | min(x, n, 4) | least of several values; of a list its least element
max | max(x, n, 4) | greatest of several values; of a list its greatest element
lowerBin | lowerBin(n, 5) | start of the interval of this width; a third argument moves the intervals
upperBin | upperBin(n, 5) | end of the interval of this width
""",
    ),
    (
        "Conditions, null and NaN",
        "Null and NaN are different: null is no value, NaN is a float.",
        """
not | not(n > 5) | the opposite; `!` and `~` are the same
ifelse | ifelse(n > 5, `big`, `small`) | one of two values; `n > 5 ? a : b` is the same
inRange | inRange(n, 5, 7) | between two bounds, both included
isNull | isNull(nothing) | whether it is null
isNaN | isNaN(x) | whether it is NaN
isInf | isInf(x) | whether it is an infinity
isFinite | isFinite(x) | neither NaN nor an infinity
isNormal | isNormal(nothing) | the same, and false for null
replaceIfNull | replaceIfNull(nothing, 0.0) | another value for null
replaceIfNaN | replaceIfNaN(x, 0.0) | another value for NaN
replaceIfNullNaN | replaceIfNullNaN(nothing, 0.0) | another value for null and NaN
replaceIfNonFinite | replaceIfNonFinite(1 / 0, 0.0) | another value for NaN, infinities and null
coalesce | coalesce(nothing, x) | the first that is not null
fill_null | fill_null(nothing, 0.0) | as `replaceIfNull`
fill_nan | fill_nan(x, 0.0) | as `replaceIfNaN`
nullValueFor | nullValueFor(x) | null of that type
cast | cast(x, Int64) | another type; `strict=false` gives null where it does not fit
col | col(`n`) | the column of that name
""",
    ),
    (
        "Text",
        "Positions count characters from 0. `matches`, `replaceAll` and `replaceFirst` take regular expressions.",
        """
length | length(s) | characters; of a list its elements
len | len(s) | the same
upper | upper(s) | capital letters
toUpperCase | toUpperCase(s) | the same
lower | lower(s) | small letters
toLowerCase | toLowerCase(s) | the same
trim | trim(`  a `) | without white space, or the characters given, at both ends
substring | substring(s, 5, 8) | from one position to before another, or to the end
startsWith | startsWith(s, `Live`) | whether it begins so
endsWith | endsWith(s, `s`) | whether it ends so
contains | contains(s, `tab`) | whether the text is in it; of a list, whether the value is
matches | matches(s, `[A-Za-z ]+`) | whether the whole text matches
replace | replace(s, `a`, `A`) | every occurrence of a text
replaceAll | replaceAll(s, `[aeiou]`, `_`) | every match
replaceFirst | replaceFirst(s, `[aeiou]`, `_`) | the first match
concat | concat(s, `!`) | one after the other
padStart | padStart(`7`, 3, `0`) | filled up to a length at the start
padEnd | padEnd(`7`, 3, `0`) | filled up to a length at the end
pad | pad(`7`, 3, `0`) | as `padEnd`
indexOf | indexOf(s, `tables`) | position of the first occurrence, -1 if there is none
split | split(s, ` `) | the parts between a text, as a list
reverse | reverse(s) | the other way round; of a list its elements
charAt | charAt(s, 0) | the character at a position
isEmpty | isEmpty(s) | whether nothing is in it; of a list as well
equals | equals(s, `live tables`) | as `==`
equalsIgnoreCase | equalsIgnoreCase(s, `live tables`) | equal but for capital letters
format | format(`{:.2f} and {}`, x, n) | values in a text, with Python's format words
parseInt | parseInt(`42`) | Int32
parseLong | parseLong(`42`) | Int64
parseDouble | parseDouble(`4.5`) | Float64
parseFloat | parseFloat(`4.5`) | Float32
parseBoolean | parseBoolean(`true`) | Boolean
parseDuration | parseDuration(`PT1H30M`) | a duration
parseLocalTime | parseLocalTime(`13:45:30`) | a time of day
parseInstant | parseInstant(`2024-02-29T13:45:30`) | an instant; a format may follow
parseLocalDate | parseLocalDate(`2024-02-29`) | a date; a format may follow
""",
    ),
    (
        "Time",
        (
            "Instants count nanoseconds of UTC. A function of the clock takes the name of a zone as a last argument, "
            "``hourOfDay(t, `America/New_York`)``; without it the zone of the column counts. "
            "`now()` and `today()` have one value a step."
        ),
        """
now | now() | the start of the step
today | today() | its date
year | year(t) | year
quarter | quarter(t) | quarter, 1 to 4
monthOfYear | monthOfYear(t) | month, 1 to 12
weekOfYear | weekOfYear(t) | ISO week
dayOfMonth | dayOfMonth(t) | day of the month
dayOfWeek | dayOfWeek(t) | Monday is 1
dayOfWeekValue | dayOfWeekValue(t) | the same
dayOfYear | dayOfYear(t) | day of the year, from 1
hourOfDay | hourOfDay(t) | hour
minuteOfHour | minuteOfHour(t) | minute
secondOfMinute | secondOfMinute(t) | second
millisOfSecond | millisOfSecond(t) | milliseconds of the second
microsOfSecond | microsOfSecond(t) | microseconds of the second
nanosOfSecond | nanosOfSecond(t) | nanoseconds of the second
microsOfMilli | microsOfMilli(t) | microseconds of the millisecond
nanosOfMilli | nanosOfMilli(t) | nanoseconds of the millisecond
minuteOfDay | minuteOfDay(t) | minutes since midnight
secondOfDay | secondOfDay(t) | seconds since midnight
millisOfDay | millisOfDay(t) | milliseconds since midnight
nanosOfDay | nanosOfDay(t) | nanoseconds since midnight
atMidnight | atMidnight(t) | the start of its day
plus | plus(t, HOUR) | later; `t + 'PT1H'` is the same
minus | minus(t, HOUR) | earlier
diffNanos | diffNanos(t, plus(t, DAY)) | from the first to the second, whole
diffMicros | diffMicros(t, plus(t, DAY)) | the same in microseconds
diffMillis | diffMillis(t, plus(t, DAY)) | the same in milliseconds
diffSeconds | diffSeconds(t, plus(t, DAY)) | the same in seconds, as Float64
diffMinutes | diffMinutes(t, plus(t, DAY)) | minutes
diffHours | diffHours(t, plus(t, DAY)) | hours
diffDays | diffDays(t, plus(t, HOUR)) | days of 24 hours
diffYears365 | diffYears365(t, plus(t, 365 * DAY)) | years of 365 days
diffYearsAvg | diffYearsAvg(t, plus(t, 365 * DAY)) | years of 365.2425 days
isBefore | isBefore(t, plus(t, HOUR)) | as `<`
isBeforeOrEqual | isBeforeOrEqual(t, t) | as `<=`
isAfter | isAfter(t, plus(t, HOUR)) | as `>`
isAfterOrEqual | isAfterOrEqual(t, t) | as `>=`
epochNanos | epochNanos(t) | nanoseconds since 1970
epochMicros | epochMicros(t) | microseconds since 1970
epochMillis | epochMillis(t) | milliseconds since 1970
epochSeconds | epochSeconds(t) | seconds since 1970
epochDays | epochDays(t) | days since 1970
epochNanosToInstant | epochNanosToInstant(1709214330123456789) | an instant of a count
epochMicrosToInstant | epochMicrosToInstant(1709214330123456) | an instant of a count
epochMillisToInstant | epochMillisToInstant(1709214330123) | an instant of a count
epochSecondsToInstant | epochSecondsToInstant(1709214330) | an instant of a count
epochDaysToLocalDate | epochDaysToLocalDate(19782) | a date of a count
epochAuto | epochAuto(1709214330123) | an instant of a count whose unit is guessed by its size
epochAutoToInstant | epochAutoToInstant(1709214330) | the same
timeZone | timeZone(`ET`) | the full name of a zone
toInstant | toInstant(d, `America/New_York`) | the start of a date in a zone
toZonedDateTime | toZonedDateTime(t, `Asia/Kolkata`) | the same instant, shown in a zone
toLocalDate | toLocalDate(t) | its date
toLocalTime | toLocalTime(t) | its time of day
formatDateTime | formatDateTime(t) | text with date, time and zone
formatDate | formatDate(t) | text of the date
strftime | strftime(t, `%d %B %Y`) | text by a format
""",
    ),
    (
        "Lists and whole columns",
        "`v` is a list in a cell. `n_` is the whole column `n`, of a static or a blink table.",
        """
sum | sum(v) | sum of the elements
product | product(v) | product
avg | avg(v) | mean
absAvg | absAvg(v) | mean without signs
median | median(v) | the value in the middle
std | std(v) | standard deviation, one degree of freedom less
var | var(v) | variance, one degree of freedom less
first | first(v) | the first element
last | last(v) | the last element
count | count(v) | elements that are not null
countDistinct | countDistinct(v) | distinct elements that are not null
indexOfMin | indexOfMin(v) | position of the least
indexOfMax | indexOfMax(v) | position of the greatest
distinct | distinct(v) | the distinct elements
unique | unique(v) | the one distinct element, null if there are several
sort | sort(v) | ascending
sortDescending | sortDescending(v) | descending
size | size(v) | elements, nulls counted
percentile | percentile(0.5, v) | the value at a part of the way from the least to the greatest
nth | nth(1, v) | the element at a position
subVector | subVector(v, 0, 2) | from one position to before another
""",
    ),
    (
        "Random numbers",
        "Drawn from the key of the row and a seed: the same row has the same number until it is computed again.",
        """
random | random() | a Float64 from 0 to below 1
randomDouble | randomDouble(0, 10) | a Float64 between two bounds
randomFloat | randomFloat(0, 10) | a Float32 between two bounds
randomInt | randomInt(1, 7) | an Int32, the second bound left out
randomLong | randomLong(1, 7) | an Int64, the second bound left out
randomBool | randomBool() | true or false
randomGaussian | randomGaussian(0, 1) | of the normal distribution with this mean and deviation
""",
    ),
)

VOLATILE = ("now", "today", "random")


def example_row() -> tf.Table:
    """The one row that the examples are over."""
    made = tf.table(
        {name: [value] for name, _, _, value in ROW if name not in {"t", "d"}},
        schema={name: kind for name, _, kind, _ in ROW if name not in {"t", "d"}},
    )
    return made.update(f"t = epochNanosToInstant({MOMENT})", f"d = epochDaysToLocalDate({DAY})")


def shown(table: tf.Table, name: str, formula: str) -> str:
    """The value of an example as the page shows it."""
    made = table.select(tf.formula(formula).alias("value"))
    kind = str(made.dtypes[0])
    if name.startswith(VOLATILE):
        return kind
    if kind.startswith(("Datetime", "Duration", "Time")):
        # Text of the engine's own: Python's times end at microseconds.
        made = made.select(tf.col("value").cast(str))
    value = made.to_dict()["value"][0]
    if isinstance(value, float):
        return f"{value:.6g}" if value != int(value) else repr(value)
    if isinstance(value, list):
        return f"[{', '.join('null' if item is None else str(item) for item in value)}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def code(text: str) -> str:
    """Text as code, whatever it holds."""
    fence = "``" if "`" in text else "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def page() -> str:
    """The whole page.

    Raises:
        ValueError: a function without a row, or a row without a function.
    """
    table = example_row()
    lines = [
        "<!-- Written by scripts/functions_page.py; a test compares the two. -->",
        "# Functions of formulas",
        "",
        "The language is described in [The formula language](formulas.md). `x.f(y)` is `f(x, y)`. The values below were",
        "computed over this row:",
        "",
        "| " + " | ".join(f"`{name}`" for name, *_ in ROW) + " |",
        "|---" * len(ROW) + "|",
        "| " + " | ".join(code(text) if "`" in text else text for _, text, *_ in ROW) + " |",
        "",
    ]
    told: list[str] = []
    for subject, words, rows in SUBJECTS:
        lines += [f"## {subject}", "", words, "", "| Function | Gives | Example | Value |", "|---|---|---|---|"]
        for row in rows.strip().splitlines():
            name, formula, gives = (part.strip() for part in row.split(" | "))
            told.append(name)
            lines.append(f"| `{name}` | {gives} | {code(formula)} | {code(shown(table, name, formula))} |")
        lines.append("")
    known = set(_native.formula_functions())
    if wrong := known.symmetric_difference(told):
        raise ValueError(f"functions without a row, or rows without a function: {', '.join(sorted(wrong))}")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
