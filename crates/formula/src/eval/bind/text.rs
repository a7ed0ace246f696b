//! Binding of functions of strings.

use std::sync::Arc;

use arrow_schema::DataType;
use regex::Regex;

use super::{Binder, Term, type_error};
use crate::error::Error;
use crate::eval::functions::text;
use crate::eval::functions::text::{Ends, Pattern};
use crate::eval::functions::{contains, pad, parse, search, time};
use crate::eval::node::Whole;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Text};
use crate::tree::literal::Literal;
use crate::tree::types::is_text;

impl Binder<'_> {
    pub(super) fn text(
        &mut self,
        function: Text,
        args: &[Expr],
        written: &dyn Fn() -> Arc<str>,
    ) -> Result<Term, Error> {
        let name = Function::Text(function).name();
        let (least, most, takes) = arity(function);
        if args.len() < least || args.len() > most {
            return Err(Error::Arguments { function: name, takes, given: args.len() });
        }
        let mut terms = self.terms(args)?;
        let subject = self.string(&name, &terms[0])?;
        let rest = terms.split_off(1);
        match function {
            Text::Format => self.format(args, written),
            Text::LenChars => self.text_node(&name, text::len_chars(), vec![subject], DataType::Int64),
            Text::LenBytes => self.text_node(&name, text::len_bytes(), vec![subject], DataType::Int64),
            Text::Contains { literal } => self.contains(&name, subject, &rest[0], literal),
            Text::StartsWith => self.with_strings(&name, contains::starts_with(), subject, &rest, DataType::Boolean),
            Text::EndsWith => self.with_strings(&name, text::ends_with(), subject, &rest, DataType::Boolean),
            Text::ToLowercase => self.text_node(&name, text::lowercase(), vec![subject], DataType::Utf8View),
            Text::ToUppercase => self.text_node(&name, text::uppercase(), vec![subject], DataType::Utf8View),
            Text::Slice => self.with_integers(&name, text::slice(), subject, &rest),
            Text::Head => self.with_integers(&name, text::head(), subject, &rest),
            Text::Tail => self.with_integers(&name, text::tail(), subject, &rest),
            Text::Zfill => self.with_integers(&name, text::zfill(), subject, &rest),
            Text::PadStart => self.padded(&name, pad::pad(true), subject, &rest),
            Text::PadEnd => self.padded(&name, pad::pad(false), subject, &rest),
            Text::Reverse => self.text_node(&name, pad::reverse(), vec![subject], DataType::Utf8View),
            Text::ToTitlecase => self.text_node(&name, pad::titlecase(), vec![subject], DataType::Utf8View),
            Text::IndexOf => self.with_strings(&name, search::index_of(), subject, &rest, DataType::Int64),
            Text::Find { literal } => {
                let (pattern, key) = self.pattern(&name, &rest[0], literal)?;
                self.text_node(&key, search::find(pattern), vec![subject], DataType::Int64)
            }
            Text::CountMatches { literal } => {
                let (pattern, key) = self.pattern(&name, &rest[0], literal)?;
                self.text_node(&key, search::count_matches(pattern), vec![subject], DataType::Int64)
            }
            Text::Split => {
                let by = self.string(&name, &rest[0])?;
                let data_type = search::list_of_text();
                self.text_node(&name, search::split(), vec![subject, by], data_type)
            }
            Text::ExtractAll => {
                let pattern = self.known_text(&name, &rest[0], "the pattern")?;
                let kernel = search::extract_all(compiled(&name, &pattern)?);
                self.text_node(&format!("{name} {pattern:?}"), kernel, vec![subject], search::list_of_text())
            }
            Text::Extract { group } => {
                let pattern = self.known_text(&name, &rest[0], "the pattern")?;
                let regex = compiled(&name, &pattern)?;
                let groups = regex.captures_len() - 1;
                if group as usize > groups {
                    let message = format!("the pattern {pattern:?} has {groups} groups, and no group {group}");
                    return Err(Error::Parameter { function: name, message });
                }
                let key = format!("{name} {pattern:?} {group}");
                self.text_node(&key, search::extract(regex, group as usize), vec![subject], DataType::Utf8View)
            }
            Text::Replace { literal } => self.replace(&name, subject, &rest, literal, false),
            Text::ReplaceAll { literal } => self.replace(&name, subject, &rest, literal, true),
            Text::StripChars => self.strip(&name, Ends::Both, subject, &rest),
            Text::StripCharsStart => self.strip(&name, Ends::Start, subject, &rest),
            Text::StripCharsEnd => self.strip(&name, Ends::End, subject, &rest),
            Text::StripPrefix => self.with_strings(&name, text::strip_affix(true), subject, &rest, DataType::Utf8View),
            Text::StripSuffix => self.with_strings(&name, text::strip_affix(false), subject, &rest, DataType::Utf8View),
            Text::ToDate { strict } => {
                let format = rest.first().map(|format| self.known_text(&name, format, "the format")).transpose()?;
                let kernel = parse::date(format.as_deref(), strict);
                self.whole(&format!("{name} {format:?} {strict}"), kernel, vec![subject], DataType::Date32, &written())
                    .map(Term::Node)
            }
            Text::ToDatetime { strict } => {
                let format = rest.first().map(|format| self.known_text(&name, format, "the format")).transpose()?;
                let zoned = format.as_deref().is_some_and(parse::names_offset);
                let data_type = time::timestamp(zoned.then(|| "UTC".into()));
                let kernel = parse::datetime(format.as_deref(), strict, zoned);
                self.whole(&format!("{name} {format:?} {strict}"), kernel, vec![subject], data_type, &written())
                    .map(Term::Node)
            }
        }
    }

    fn string(&mut self, name: &str, term: &Term) -> Result<usize, Error> {
        let data_type = self.term_type(term);
        if data_type != DataType::Null && !is_text(&data_type) {
            return Err(type_error(name, &[&data_type], "it takes strings; cast first with .cast(String)"));
        }
        self.as_type(term, &DataType::Utf8View)
    }

    fn text_node(&mut self, name: &str, kernel: Whole, args: Vec<usize>, data_type: DataType) -> Result<Term, Error> {
        self.whole(name, kernel, args, data_type, "").map(Term::Node)
    }

    fn with_strings(
        &mut self,
        name: &str,
        kernel: Whole,
        subject: usize,
        rest: &[Term],
        data_type: DataType,
    ) -> Result<Term, Error> {
        let mut args = vec![subject];
        for term in rest {
            args.push(self.string(name, term)?);
        }
        self.text_node(name, kernel, args, data_type)
    }

    /// Integer arguments; a null literal at the end is one that was left out.
    fn with_integers(&mut self, name: &str, kernel: Whole, subject: usize, rest: &[Term]) -> Result<Term, Error> {
        let mut args = vec![subject];
        for (index, term) in rest.iter().enumerate() {
            if index > 0 && matches!(term, Term::Literal(Literal::Null)) {
                continue;
            }
            let data_type = self.term_type(term);
            if !data_type.is_integer() && data_type != DataType::Null {
                return Err(type_error(name, &[&DataType::Utf8View, &data_type], "it counts in integers"));
            }
            let node = self.settled(term.clone())?;
            args.push(self.cast_to_int64(node)?);
        }
        self.text_node(name, kernel, args, DataType::Utf8View)
    }

    fn cast_to_int64(&mut self, node: usize) -> Result<usize, Error> {
        if *self.type_of(node) == DataType::UInt64 {
            return Err(type_error("a count", &[&DataType::UInt64], "cast it to Int64"));
        }
        self.promoted(node, &DataType::Int64)
    }

    fn strip(&mut self, name: &str, ends: Ends, subject: usize, rest: &[Term]) -> Result<Term, Error> {
        let rest: Vec<Term> =
            rest.iter().filter(|term| !matches!(term, Term::Literal(Literal::Null))).cloned().collect();
        self.with_strings(name, text::strip(ends), subject, &rest, DataType::Utf8View)
    }

    fn contains(&mut self, name: &str, subject: usize, pattern: &Term, literal: bool) -> Result<Term, Error> {
        if literal {
            return self.with_strings(
                "contains literal",
                contains::literal(),
                subject,
                std::slice::from_ref(pattern),
                DataType::Boolean,
            );
        }
        let pattern_text = self.known_text(name, pattern, "the pattern")?;
        let regex = compiled(name, &pattern_text)?;
        if regex::escape(&pattern_text) == pattern_text {
            return self.with_strings(
                "contains literal",
                contains::literal(),
                subject,
                std::slice::from_ref(pattern),
                DataType::Boolean,
            );
        }
        self.text_node(&format!("{name} {pattern_text:?}"), contains::matches(regex), vec![subject], DataType::Boolean)
    }

    /// A length, and perhaps the character that fills.
    fn padded(&mut self, name: &str, kernel: Whole, subject: usize, rest: &[Term]) -> Result<Term, Error> {
        let length = self.settled(rest[0].clone())?;
        let data_type = self.type_of(length).clone();
        if !data_type.is_integer() && data_type != DataType::Null {
            return Err(type_error(name, &[&DataType::Utf8View, &data_type], "it counts in integers"));
        }
        let mut args = vec![subject, self.cast_to_int64(length)?];
        if let Some(fill) = rest.get(1) {
            args.push(self.string(name, fill)?);
        }
        self.text_node(name, kernel, args, DataType::Utf8View)
    }

    /// What is looked for, and the key of the node that looks for it.
    fn pattern(&self, name: &str, term: &Term, literal: bool) -> Result<(Pattern, String), Error> {
        let text = self.known_text(name, term, "the pattern")?;
        let key = format!("{name} {text:?} {literal}");
        Ok((if literal { Pattern::Literal(text) } else { Pattern::Regex(compiled(name, &text)?) }, key))
    }

    fn replace(&mut self, name: &str, subject: usize, rest: &[Term], literal: bool, all: bool) -> Result<Term, Error> {
        let pattern_text = self.known_text(name, &rest[0], "the pattern")?;
        // A pattern without signs is itself, if the value names no groups either.
        let plain = regex::escape(&pattern_text) == pattern_text
            && self.known_text(name, &rest[1], "the value").is_ok_and(|value| !value.contains('$'));
        let pattern = if literal || plain {
            Pattern::Literal(pattern_text.clone())
        } else {
            Pattern::Regex(compiled(name, &pattern_text)?)
        };
        let value = self.string(name, &rest[1])?;
        self.text_node(
            &format!("{name} {pattern_text:?} {literal}"),
            text::replace(pattern, all),
            vec![subject, value],
            DataType::Utf8View,
        )
    }
}

fn compiled(function: &str, pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| Error::Parameter { function: function.to_owned(), message: error.to_string() })
}

/// The least and the greatest number of arguments, and what they are.
fn arity(function: Text) -> (usize, usize, &'static str) {
    match function {
        Text::LenChars | Text::LenBytes | Text::ToLowercase | Text::ToUppercase => (1, 1, "a string"),
        Text::Contains { .. } => (2, 2, "a string and a pattern"),
        Text::StartsWith | Text::EndsWith | Text::StripPrefix | Text::StripSuffix => (2, 2, "two strings"),
        Text::Slice => (2, 3, "a string, an offset and a length"),
        Text::Reverse | Text::ToTitlecase => (1, 1, "a string"),
        Text::IndexOf => (2, 2, "two strings"),
        Text::Find { .. } | Text::CountMatches { .. } | Text::Extract { .. } => (2, 2, "a string and a pattern"),
        Text::PadStart | Text::PadEnd => (2, 3, "a string, a length and a character"),
        Text::Head | Text::Tail | Text::Zfill => (2, 2, "a string and a number of characters"),
        Text::Replace { .. } | Text::ReplaceAll { .. } => (3, 3, "a string, a pattern and what replaces it"),
        Text::Format => (1, usize::MAX, "a template and its values"),
        Text::Split => (2, 2, "two strings"),
        Text::ExtractAll => (2, 2, "a string and a pattern"),
        Text::StripChars | Text::StripCharsStart | Text::StripCharsEnd => {
            (1, 2, "a string and the characters to strip")
        }
        Text::ToDate { .. } | Text::ToDatetime { .. } => (1, 2, "a string and a format"),
    }
}
