//! The grammar: words to a tree, by precedence. Nothing is looked up here.
//!
//! ```text
//! formula  = [ name "=" ] choice
//! choice   = binary [ "?" choice ":" choice ]
//! binary   = unary { operator unary }            || && | ^ & (== !=) (< <= > >= match) (<< >>) (+ -) (* / // %)
//! match    = ["icase"] ["not"] "in" list | ["icase"] ["not"] "includes" ("any" | "all") list
//! unary    = ("-" | "+" | "!" | "~" | "not" | cast) unary | power
//! power    = postfix [ "**" unary ]
//! postfix  = primary { "." name [ arguments ] | "[" choice "]" }
//! primary  = name [ arguments ] | number | text | quoted | "(" choice ")"
//! ```

mod operand;

use std::sync::Arc;

use crate::language::ast::{Ast, Kind, MAX_DEPTH, Match, Matched, too_deep};
use crate::language::lex::{Mistake, Span, Token, words};
use crate::tree::function::Function;

/// The longest formula, in bytes.
pub(crate) const MAX_TEXT: usize = 64 * 1024;

/// A whole formula.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    /// The name it assigns to, if it does.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) body: Ast,
}

/// What is read: in a filter a lone `=` is equality, else it is an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The value of a column, `Y = X * 2`.
    Column,
    /// A condition, `X = 2`.
    Filter,
}

pub(crate) fn parse(text: &str, purpose: Purpose) -> Result<Parsed, Mistake> {
    if text.len() > MAX_TEXT {
        let message = format!("a formula has at most {MAX_TEXT} bytes, this one {}", text.len());
        return Err(Mistake::new(Span { start: 0, end: 0 }, message));
    }
    let mut parser = Parser { text, words: words(text)?, at: 0, depth: 0, brackets: 0, purpose };
    let mut name = None;
    if purpose == Purpose::Column && parser.kind() == &Token::Name && parser.words[1].0 == Token::Sign("=") {
        name = Some(parser.here().into());
        if RESERVED.contains(&parser.here()) {
            return Err(parser.expected("the name of a new column"));
        }
        parser.at += 2;
    }
    if parser.kind() == &Token::End {
        return Err(parser.expected("an expression"));
    }
    let body = parser.choice()?;
    match parser.kind() {
        Token::End => Ok(Parsed { name, body }),
        Token::Sign("=") => {
            let message = "a lone = stands only after the name of a new column; equality is ==";
            Err(Mistake::new(parser.span(), message))
        }
        _ => Err(parser.expected("an operator or the end")),
    }
}

/// Words that are never names.
pub(crate) const RESERVED: &[&str] =
    &["and", "or", "not", "in", "icase", "includes", "true", "false", "True", "False", "null", "None"];

struct Parser<'a> {
    text: &'a str,
    words: Vec<(Token, Span)>,
    at: usize,
    depth: u32,
    /// Open brackets of calls, where a comma ends an argument.
    brackets: u32,
    purpose: Purpose,
}

/// Levels of binary operators, loose to tight.
const LEVELS: &[&[(&str, Function)]] = &[
    &[("||", Function::Or), ("or", Function::Or)],
    &[("&&", Function::And), ("and", Function::And)],
    &[("|", Function::Or)],
    &[("^", Function::Xor)],
    &[("&", Function::And)],
    &[("==", Function::Equal), ("!=", Function::NotEqual)],
    &[("<", Function::Less), ("<=", Function::LessEqual), (">", Function::Greater), (">=", Function::GreaterEqual)],
    &[("<<", Function::ShiftLeft), (">>", Function::ShiftRight)],
    &[("+", Function::Add), ("-", Function::Subtract)],
    &[("*", Function::Multiply), ("/", Function::Divide), ("//", Function::FloorDivide), ("%", Function::Modulo)],
];
/// Up to here operators combine conditions, and not the bits of integers.
const LOGIC: usize = 1;
const EQUALITY: usize = 5;
const ORDER: usize = 6;
const SHIFT: usize = 7;

impl<'a> Parser<'a> {
    fn kind(&self) -> &Token {
        &self.words[self.at].0
    }

    fn span(&self) -> Span {
        self.words[self.at].1
    }

    /// The text of the present word.
    fn here(&self) -> &'a str {
        let span = self.span();
        &self.text[span.start..span.end]
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind(), Token::Sign(found) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        *self.kind() == Token::Name && self.here() == word
    }

    /// Whether the word after this one is `word`.
    fn next_is_word(&self, word: &str) -> bool {
        matches!(self.words.get(self.at + 1), Some((Token::Name, span)) if &self.text[span.start..span.end] == word)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Mistake {
        let found = match self.kind() {
            Token::End => "the formula ends".to_owned(),
            _ => format!("found {}", self.here()),
        };
        Mistake::new(self.span(), format!("expected {what}, {found}{}", self.two_names()))
    }

    /// What to do where two names follow each other, which may be one name with a space; and where a choice is Python's.
    fn two_names(&self) -> String {
        let is_name = |at: usize| {
            let (word, span) = &self.words[at];
            *word == Token::Name && !RESERVED.contains(&&self.text[span.start..span.end])
        };
        if self.here() == "if" && self.at > 0 {
            return "; a choice is written condition ? value : other".to_owned();
        }
        if self.at == 0 || !is_name(self.at) || !is_name(self.at - 1) {
            return String::new();
        }
        let both = &self.text[self.words[self.at - 1].1.start..self.span().end];
        format!(
            "; if {both:?} is one column, a formula cannot name it: write the expression tf.col({both:?}), or rename the \
             column first: t.rename({{{both:?}: {:?}}})",
            both.split_whitespace().collect::<Vec<_>>().join("_")
        )
    }

    fn expect(&mut self, sign: &'static str, after: &str) -> Result<Span, Mistake> {
        let span = self.span();
        if self.accept(sign) { Ok(span) } else { Err(self.expected(&format!("{sign} {after}"))) }
    }

    /// Runs `parse` one level deeper.
    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Result<Ast, Mistake>) -> Result<Ast, Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.span()));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn choice(&mut self) -> Result<Ast, Mistake> {
        let condition = self.binary(0)?;
        if !self.accept("?") {
            return Ok(condition);
        }
        let then = self.deeper(Self::choice)?;
        self.expect(":", "and the other value of the ?")?;
        let otherwise = self.deeper(Self::choice)?;
        let span = condition.span.to(otherwise.span);
        Ast::new(Kind::Choice(Box::new([condition, then, otherwise])), span)
    }

    /// The operator of this level that stands here.
    fn operator(&self, level: usize) -> Option<Function> {
        let found = match self.kind() {
            Token::Sign(sign) => *sign,
            Token::Name => self.here(),
            _ => return None,
        };
        let lone = level == EQUALITY && found == "=" && self.purpose == Purpose::Filter;
        if lone {
            return Some(Function::Equal);
        }
        LEVELS[level].iter().find(|(sign, _)| *sign == found).map(|(_, function)| *function)
    }

    /// The tightest level at or above `level` of the operator that stands here.
    fn binary(&mut self, level: usize) -> Result<Ast, Mistake> {
        // Precedence climbing: one call an operand, whatever the number of levels.
        let mut left = self.unary()?;
        loop {
            if level <= ORDER
                && let Some(how) = self.match_words()?
            {
                left = self.matched(left, how)?;
                continue;
            }
            let Some((at, function)) =
                (level..LEVELS.len()).find_map(|at| self.operator(at).map(|function| (at, function)))
            else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.binary(at + 1)?;
            left = left.extended(function, at <= LOGIC, right)?;
            // What binds tighter than this operator was read by its right side; looser ones come next.
        }
    }

    /// `in`, `not in`, `icase in`, `icase not in`, `includes any`, …
    fn match_words(&mut self) -> Result<Option<Match>, Mistake> {
        let starts = self.is_word("in") || self.is_word("icase") || self.is_word("includes");
        if !starts && !(self.is_word("not") && (self.next_is_word("in") || self.next_is_word("includes"))) {
            return Ok(None);
        }
        let ignore_case = self.accept_word("icase");
        let not = self.accept_word("not");
        let how = if self.accept_word("in") {
            Matched::In
        } else if self.accept_word("includes") {
            match (self.accept_word("any"), self.accept_word("all")) {
                (true, _) => Matched::IncludesAny,
                (_, true) => Matched::IncludesAll,
                _ => return Err(self.expected("any or all after includes")),
            }
        } else {
            return Err(self.expected("in or includes"));
        };
        Ok(Some(Match { how, ignore_case, not }))
    }

    fn matched(&mut self, subject: Ast, how: Match) -> Result<Ast, Mistake> {
        let mut items = Vec::new();
        let mut end = self.span();
        let close = if self.is_sign("[") {
            Some("]")
        } else if self.is_sign("(") {
            Some(")")
        } else {
            None
        };
        if let Some(close) = close {
            self.at += 1;
            let outer = std::mem::take(&mut self.brackets);
            if !self.is_sign(close) {
                items = self.list()?;
            }
            self.brackets = outer;
            end = self.expect(close, "after the list")?;
        } else if self.brackets > 0 {
            // Inside a call the comma belongs to the call.
            items.push(self.binary(SHIFT)?);
        } else {
            items = self.list()?;
        }
        end = items.last().map_or(end, |item: &Ast| if item.span.end > end.end { item.span } else { end });
        let span = subject.span.to(end);
        Ast::new(Kind::Match(Box::new(subject), how, items), span)
    }

    fn list(&mut self) -> Result<Vec<Ast>, Mistake> {
        let mut items = vec![self.binary(SHIFT)?];
        while self.accept(",") {
            items.push(self.binary(SHIFT)?);
        }
        Ok(items)
    }
}
