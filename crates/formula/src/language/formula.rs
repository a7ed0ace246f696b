//! Formula strings: `"Y = X * 2"` as the tree that expression objects make too.
//!
//! A formula is parsed once and lowered for a table, or for none: names are columns first, then
//! variables of the caller. An error shows the user's own text with a caret under the place.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Schema;

use crate::error::Error;
use crate::eval::bind::bind;
use crate::language::ast::{Ast, Kind};
use crate::language::cache as texts;
use crate::language::checked::Checked;
use crate::language::lex::Span;
use crate::language::library;
use crate::language::lower::lower;
use crate::language::names::{Names, Trouble};
use crate::language::parse::{Parsed, Purpose, parse};
use crate::tree::expr::Expr;

/// A parsed formula.
#[derive(Clone, Debug)]
pub struct Formula {
    text: Arc<str>,
    parsed: Arc<Parsed>,
}

/// A formula that cannot be understood: what is wrong, and where in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    text: Arc<str>,
    span: Span,
    error: Error,
}

impl Formula {
    /// Parses a text of at most 64 KiB that nests at most 128 deep.
    pub fn parse(text: &str, purpose: Purpose) -> Result<Formula, FormulaError> {
        match texts::text(text, purpose, || parse(text, purpose)) {
            Ok(parsed) => Ok(Formula { text: text.into(), parsed }),
            Err(mistake) => {
                let error = Error::Formula { message: mistake.message };
                Err(FormulaError { text: text.into(), span: mistake.span, error })
            }
        }
    }

    /// The text, as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name it gives its value, `Y` of `Y = X`, or the column that it is.
    pub fn output_name(&self) -> Option<&str> {
        match (&self.parsed.name, &self.parsed.body.kind) {
            (Some(name), _) | (None, Kind::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// The names of columns, variables and functions that are not the language's own, each once. Arrays come without their `_` too.
    pub fn names(&self) -> Vec<&str> {
        fn walk<'a>(ast: &'a Ast, seen: &mut HashSet<&'a str>, found: &mut Vec<&'a str>) {
            let mut add = |name: &'a str| {
                if seen.insert(name) {
                    found.push(name);
                }
            };
            match &ast.kind {
                Kind::Call { name, method: false, .. } if !library::names().any(|own| own == &**name) => add(name),
                Kind::Name(name) => {
                    add(name);
                    name.strip_suffix('_').filter(|base| !base.is_empty()).into_iter().for_each(add);
                }
                _ => {}
            }
            ast.children().for_each(|child| walk(child, seen, found));
        }
        let mut found = Vec::new();
        walk(&self.parsed.body, &mut HashSet::new(), &mut found);
        found
    }

    /// The expression it means.
    pub fn lower(&self, names: &Names<'_>) -> Result<Expr, FormulaError> {
        let body = lower(&self.parsed.body, names).map_err(|trouble| self.at(trouble))?;
        body.check_limits().map_err(|error| self.at(Trouble { span: self.parsed.body.span, error }))?;
        Ok(match &self.parsed.name {
            Some(name) if !matches!(&body, Expr::Column(same) if **same == **name) => body.alias(Arc::clone(name)),
            _ => body,
        })
    }

    /// What it means over the columns of `schema`, its types checked.
    pub fn check(&self, names: &Names<'_>, schema: &Schema) -> Result<Checked, FormulaError> {
        let expr = self.lower(names)?;
        let own = expr.without_sets();
        match bind(&own, schema) {
            Ok(bound) => Ok(Checked::new(expr, own, schema, bound, &self.text)),
            Err(error) => {
                let span = blame(&self.parsed.body, names, schema, &error, &mut BLAMED.clone());
                Err(self.at(Trouble { span, error }))
            }
        }
    }

    /// The error about the whole value of the formula.
    pub fn wrong(&self, error: Error) -> FormulaError {
        self.at(Trouble { span: self.parsed.body.span, error })
    }

    fn at(&self, trouble: Trouble) -> FormulaError {
        FormulaError { text: Arc::clone(&self.text), span: trouble.span, error: trouble.error }
    }
}

/// So many parts are looked at in search of the one to blame: a mistake is told at once, however long the formula.
const BLAMED: usize = 4_000;

/// The smallest part that cannot be bound for the same reason.
fn blame(ast: &Ast, names: &Names<'_>, schema: &Schema, error: &Error, left: &mut usize) -> Span {
    let mut is_guilty = |child: &&Ast| {
        let Some(rest) = left.checked_sub(child.size) else { return false };
        *left = rest;
        lower(child, names).is_ok_and(|expr| bind(&expr.without_sets(), schema).is_err_and(|found| found == *error))
    };
    let guilty = ast.children().find(|child| is_guilty(child));
    guilty.map_or(ast.span, |child| blame(child, names, schema, error, left))
}

impl FormulaError {
    /// The whole formula.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// First character and end of the place that is wrong, counted in characters.
    pub fn span(&self) -> Range<usize> {
        let characters = |bytes: usize| self.text[..bytes].chars().count();
        characters(self.span.start)..characters(self.span.end)
    }

    /// What is wrong, without the place.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Two lines: the text on one, the caret under the place on the next. Of a long text what lies around the place.
    pub fn shown(&self) -> String {
        let blank = |character: char| if character.is_control() { ' ' } else { character };
        let line: Vec<char> = self.text.chars().map(blank).collect();
        let span = self.span();
        let (from, to) = match line.len() {
            0..=WIDEST => (0, line.len()),
            len => (span.start.saturating_sub(AROUND), (span.end.min(span.start + AROUND) + AROUND).min(len)),
        };
        let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
        let part: String = line[from..to].iter().collect();
        let indent = " ".repeat(before.chars().count() + span.start - from);
        let carets = "^".repeat(span.end.min(to).saturating_sub(span.start).max(1));
        format!("  {before}{part}{after}\n  {indent}{carets}")
    }
}

/// A text of up to so many characters is shown whole in an error.
const WIDEST: usize = 160;
/// Of a longer one so many before the place and behind it.
const AROUND: usize = 60;

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.error, self.shown())
    }
}

impl std::error::Error for FormulaError {}
