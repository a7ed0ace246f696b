//! Binding of functions of strings.

use arrow_schema::DataType;
use regex::Regex;

use super::{Binder, Call, Term, type_error};
use crate::error::Error;
use crate::eval::functions::coded::Encoding;
use crate::eval::functions::text::Pattern;
use crate::eval::node::Whole;
use crate::tree::literal::Literal;
use crate::tree::types::is_text;

impl Binder<'_> {
    /// A function of strings alone.
    pub(crate) fn of_strings(&mut self, c: &Call<'_>, kernel: Whole, data_type: DataType) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        self.strings(c.name, c.name, kernel, &terms, data_type)
    }

    /// A function of strings, without those of its arguments that are null literals.
    pub(crate) fn of_given_strings(&mut self, c: &Call<'_>, kernel: Whole, data_type: DataType) -> Result<Term, Error> {
        let mut terms = self.terms(c.args)?;
        let mut at = 0;
        terms.retain(|term| {
            at += 1;
            at == 1 || !matches!(term, Term::Literal(Literal::Null))
        });
        self.strings(c.name, c.name, kernel, &terms, data_type)
    }

    /// A function of a string and of integers that gives a string; a null literal at the end is one that was left out.
    pub(crate) fn of_string_and_integers(&mut self, c: &Call<'_>, kernel: Whole) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let mut args = vec![subject];
        for (index, term) in rest.iter().enumerate() {
            if index == 0 || !matches!(term, Term::Literal(Literal::Null)) {
                args.push(self.count(c.name, term)?);
            }
        }
        self.whole(c.name, kernel, args, DataType::Utf8View, "").map(Term::Node)
    }

    /// A function of a string, a length, and perhaps the character that fills.
    pub(crate) fn padded(&mut self, c: &Call<'_>, kernel: Whole) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let mut args = vec![subject, self.count(c.name, &rest[0])?];
        for fill in &rest[1..] {
            args.push(self.string(c.name, fill)?);
        }
        self.whole(c.name, kernel, args, DataType::Utf8View, "").map(Term::Node)
    }

    /// A function of a string that looks for a pattern, a regular expression or, with the option `literal`, a text.
    pub(crate) fn of_pattern(
        &mut self,
        c: &Call<'_>,
        kernel: impl FnOnce(Pattern) -> Whole,
        data_type: DataType,
    ) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let (text, literal) = (self.known_text(c.name, &rest[0], "the pattern")?, c.flag("literal"));
        let key = format!("{} {text:?} {literal}", c.name);
        let pattern = if literal { Pattern::Literal(text) } else { Pattern::Regex(compiled(c.name, &text)?) };
        self.whole(&key, kernel(pattern), vec![subject], data_type, "").map(Term::Node)
    }

    /// A function of a string and of a regular expression; `kernel` may refuse that.
    pub(crate) fn of_regex(
        &mut self,
        c: &Call<'_>,
        kernel: impl FnOnce(Regex, &str) -> Result<Whole, String>,
        data_type: DataType,
    ) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let pattern = self.known_text(c.name, &rest[0], "the pattern")?;
        let kernel = kernel(compiled(c.name, &pattern)?, &pattern)
            .map_err(|message| Error::Parameter { function: c.name.to_owned(), message })?;
        self.whole(&format!("{:?} {pattern:?}", c.function), kernel, vec![subject], data_type, "").map(Term::Node)
    }

    /// Whether a text or a pattern is found; a pattern without signs is a text.
    pub(crate) fn contained(
        &mut self,
        c: &Call<'_>,
        text: Whole,
        pattern: impl FnOnce(Regex) -> Whole,
    ) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let subject = self.string(c.name, &terms[0])?;
        if !c.flag("literal") {
            let known = self.known_text(c.name, &terms[1], "the pattern")?;
            let regex = compiled(c.name, &known)?;
            if regex::escape(&known) != known {
                let key = format!("{} {known:?}", c.name);
                return self.whole(&key, pattern(regex), vec![subject], DataType::Boolean, "").map(Term::Node);
            }
        }
        self.strings(c.name, "contains literal", text, &terms, DataType::Boolean)
    }

    /// A string in which one text stands in place of a pattern.
    pub(crate) fn replaced(&mut self, c: &Call<'_>, kernel: impl FnOnce(Pattern) -> Whole) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let (text, literal) = (self.known_text(c.name, &rest[0], "the pattern")?, c.flag("literal"));
        // A pattern without signs is itself, if the value names no groups either.
        let plain = regex::escape(&text) == text
            && self.known_text(c.name, &rest[1], "the value").is_ok_and(|value| !value.contains('$'));
        let key = format!("{} {text:?} {literal}", c.name);
        let pattern = if literal || plain { Pattern::Literal(text) } else { Pattern::Regex(compiled(c.name, &text)?) };
        let value = self.string(c.name, &rest[1])?;
        self.whole(&key, kernel(pattern), vec![subject, value], DataType::Utf8View, "").map(Term::Node)
    }

    /// A string that is read by a format, which is a literal, or by none.
    pub(crate) fn read_by_format(
        &mut self,
        c: &Call<'_>,
        kernel: impl FnOnce(Option<&str>) -> (Whole, DataType),
    ) -> Result<Term, Error> {
        let (subject, rest) = self.subject(c)?;
        let format = rest.first().map(|format| self.known_text(c.name, format, "the format")).transpose()?;
        let (kernel, data_type) = kernel(format.as_deref());
        let key = format!("{:?} {format:?}", c.function);
        self.whole(&key, kernel, vec![subject], data_type, &c.text()).map(Term::Node)
    }

    /// A function of a string or of bytes, by an encoding that is named.
    pub(crate) fn coded(
        &mut self,
        c: &Call<'_>,
        of_bytes: bool,
        kernel: impl FnOnce(Encoding) -> (Whole, DataType),
    ) -> Result<Term, Error> {
        let mut terms = self.terms(c.args)?;
        let named = self.known_text(c.name, &terms.remove(1), "the encoding")?;
        let encoding = Encoding::named(&named)
            .ok_or_else(|| c.refused(format!("\"{named}\" is no encoding; choose among hex base64")))?;
        let term = terms.remove(0);
        let subject = if of_bytes { self.bytes(c.name, term)? } else { self.string(c.name, &term)? };
        let (kernel, data_type) = kernel(encoding);
        self.whole(&format!("{:?} {named}", c.function), kernel, vec![subject], data_type, &c.text()).map(Term::Node)
    }

    /// The string that a function is of, and its other arguments.
    fn subject(&mut self, c: &Call<'_>) -> Result<(usize, Vec<Term>), Error> {
        let mut terms = self.terms(c.args)?;
        let rest = terms.split_off(1);
        Ok((self.string(c.name, &terms[0])?, rest))
    }

    fn strings(
        &mut self,
        name: &str,
        key: &str,
        kernel: Whole,
        terms: &[Term],
        data_type: DataType,
    ) -> Result<Term, Error> {
        let args = terms.iter().map(|term| self.string(name, term)).collect::<Result<_, _>>()?;
        self.whole(key, kernel, args, data_type, "").map(Term::Node)
    }

    fn string(&mut self, name: &str, term: &Term) -> Result<usize, Error> {
        let data_type = self.term_type(term);
        if data_type != DataType::Null && !is_text(&data_type) {
            return Err(type_error(name, &[&data_type], "it takes strings; cast first with .cast(String)"));
        }
        self.as_type(term, &DataType::Utf8View)
    }

    fn count(&mut self, name: &str, term: &Term) -> Result<usize, Error> {
        let data_type = self.term_type(term);
        if !data_type.is_integer() && data_type != DataType::Null {
            return Err(type_error(name, &[&DataType::Utf8View, &data_type], "it counts in integers"));
        }
        let node = self.settled(term.clone())?;
        if data_type == DataType::UInt64 {
            return Err(type_error("a count", &[&DataType::UInt64], "cast it to Int64"));
        }
        self.promoted(node, &DataType::Int64)
    }
}

fn compiled(function: &str, pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| Error::Parameter { function: function.to_owned(), message: error.to_string() })
}
