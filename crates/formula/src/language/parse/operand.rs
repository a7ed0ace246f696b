//! Operands: literals, names, calls, casts, and what stands before and behind them.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Parser, RESERVED};
use crate::language::ast::{Ast, Kind};
use crate::language::lex::{Mistake, Span, Token};
use crate::language::{constants, literals};
use crate::tree::function::Function;
use crate::tree::literal::Literal;

impl Parser<'_> {
    pub(super) fn unary(&mut self) -> Result<Ast, Mistake> {
        let start = self.span();
        if self.is_sign("-")
            && let (Token::Number(literal, data_type), span) = &self.words[self.at + 1]
            && !matches!(self.words.get(self.at + 2), Some((Token::Sign("**" | "." | "["), _)))
        {
            let negative = match literal {
                Literal::Int(value) => Some(Literal::Int(-value)),
                Literal::Float(value) => Some(Literal::Float(-value)),
                Literal::UInt(value) if *value == 1 << 63 => Some(Literal::Int(i64::MIN)),
                _ => None,
            };
            if let Some(negative) = negative {
                let made = Ast::new(Kind::Literal(negative, data_type.clone()), start.to(*span));
                self.at += 2;
                return made;
            }
        }
        let logic = !matches!(self.kind(), Token::Sign("~"));
        let function = match self.kind() {
            Token::Sign("-") => Some(Function::Negate),
            Token::Sign("!" | "~") => Some(Function::Not),
            Token::Name if self.here() == "not" => Some(Function::Not),
            Token::Sign("+") => {
                self.at += 1;
                return self.deeper(Self::unary);
            }
            Token::Sign("(") => None,
            _ => return self.power(),
        };
        if let Some(function) = function {
            self.at += 1;
            let operand = self.deeper(Self::unary)?;
            let span = start.to(operand.span);
            let logic = logic && function == Function::Not;
            let kind = if logic { Kind::Logic } else { Kind::Operator };
            return Ast::new(kind(function, vec![operand]), span);
        }
        match self.cast_type() {
            Some((data_type, words)) => {
                self.at += words;
                let operand = self.deeper(Self::unary)?;
                let span = start.to(operand.span);
                Ast::new(Kind::Cast(data_type, Box::new(operand)), span)
            }
            None => self.power(),
        }
    }

    /// `(type)` before something that can be cast, and how many words it is.
    fn cast_type(&self) -> Option<(DataType, usize)> {
        let word = |ahead: usize| self.words.get(self.at + ahead).map(|(token, _)| token);
        let Some((Token::Name, span)) = self.words.get(self.at + 1) else { return None };
        let name = &self.text[span.start..span.end];
        let (data_type, words) = if name == "decimal" && word(2) == Some(&Token::Sign("(")) {
            let (Some(Token::Number(Literal::Int(precision), None)), Some(Token::Number(Literal::Int(scale), None))) =
                (word(3), word(5))
            else {
                return None;
            };
            if word(4) != Some(&Token::Sign(",")) || word(6) != Some(&Token::Sign(")")) {
                return None;
            }
            (constants::decimal_type(*precision, *scale)?, 7)
        } else {
            (constants::cast_type(name)?, 2)
        };
        if word(words) != Some(&Token::Sign(")")) {
            return None;
        }
        let castable = matches!(
            word(words + 1)?,
            Token::Name | Token::Number(..) | Token::Text(_) | Token::Quoted(_) | Token::Sign("(" | "!" | "~" | "-")
        );
        // After `(name)` a word that continues an expression makes it a column in brackets.
        let continues = matches!(self.words.get(self.at + words + 1), Some((Token::Name, span))
            if matches!(&self.text[span.start..span.end], "in" | "icase" | "includes" | "and" | "or" | "not"));
        (castable && !continues).then_some((data_type, words + 1))
    }

    fn power(&mut self) -> Result<Ast, Mistake> {
        let base = self.postfix()?;
        if !self.accept("**") {
            return Ok(base);
        }
        let exponent = self.deeper(Self::unary)?;
        let span = base.span.to(exponent.span);
        Ast::new(Kind::Operator(Function::Power, vec![base, exponent]), span)
    }

    fn postfix(&mut self) -> Result<Ast, Mistake> {
        let mut subject = self.primary()?;
        loop {
            if self.accept(".") {
                if self.kind() != &Token::Name {
                    return Err(self.expected("the name of a method or a field after the point"));
                }
                let (name, at): (Arc<str>, Span) = (self.here().into(), self.span());
                self.at += 1;
                if self.is_sign("(") {
                    let (mut args, named, end) = self.arguments(&name)?;
                    let span = subject.span.to(end);
                    args.insert(0, subject);
                    subject = Ast::new(Kind::Call { name, at, method: true, args, named }, span)?;
                } else {
                    let span = subject.span.to(at);
                    subject = Ast::new(Kind::Field(Box::new(subject), name, at), span)?;
                }
            } else if self.accept("[") {
                let index = self.bracketed(0)?;
                let end = self.expect("]", "after the index")?;
                let span = subject.span.to(end);
                subject = Ast::new(Kind::Index(Box::new(subject), Box::new(index)), span)?;
            } else {
                return Ok(subject);
            }
        }
    }

    /// An expression between brackets; `calls` is 1 between those of a call.
    fn bracketed(&mut self, calls: u32) -> Result<Ast, Mistake> {
        let outer = std::mem::replace(&mut self.brackets, calls);
        let inner = self.deeper(Self::choice);
        self.brackets = outer;
        inner
    }

    #[allow(clippy::type_complexity, reason = "arguments, named arguments, and where they end")]
    fn arguments(&mut self, name: &str) -> Result<(Vec<Ast>, Vec<(Arc<str>, Ast)>, Span), Mistake> {
        self.at += 1;
        let (mut args, mut named) = (Vec::new(), Vec::new());
        if !self.is_sign(")") {
            loop {
                if self.kind() == &Token::Name
                    && self.words[self.at + 1].0 == Token::Sign("=")
                    && (name == "cast" || name.starts_with("random"))
                {
                    let key = self.here().into();
                    self.at += 2;
                    named.push((key, self.bracketed(1)?));
                } else {
                    args.push(self.bracketed(1)?);
                }
                if !self.accept(",") {
                    break;
                }
            }
        }
        let end = self.expect(")", &format!("or , in the arguments of {name}"))?;
        Ok((args, named, end))
    }

    fn primary(&mut self) -> Result<Ast, Mistake> {
        let span = self.span();
        let kind = match self.kind() {
            Token::Number(literal, data_type) => Kind::Literal(literal.clone(), data_type.clone()),
            Token::Text(text) => Kind::Literal(Literal::Str(Arc::clone(text)), None),
            Token::Quoted(text) => match literals::meaning(text) {
                Ok(literals::Meaning::Literal(literal)) => Kind::Literal(literal, None),
                Ok(literals::Meaning::Period(period)) => Kind::Period(period),
                Err(message) => return Err(Mistake::new(span, message)),
            },
            Token::Name => return self.name(),
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.bracketed(0)?;
                let end = self.expect(")", "to close the bracket")?;
                return Ok(Ast { span: span.to(end), ..inner });
            }
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        Ast::new(kind, span)
    }

    fn name(&mut self) -> Result<Ast, Mistake> {
        let (name, span) = (self.here(), self.span());
        let kind = match name {
            "true" | "True" => Kind::Literal(Literal::Bool(true), None),
            "false" | "False" => Kind::Literal(Literal::Bool(false), None),
            "null" | "None" => Kind::Literal(Literal::Null, None),
            _ if RESERVED.contains(&name) => return Err(self.expected("a value")),
            _ => Kind::Name(name.into()),
        };
        self.at += 1;
        if matches!(kind, Kind::Name(_)) && self.is_sign("(") {
            let (args, named, end) = self.arguments(name)?;
            let call = Kind::Call { name: name.into(), at: span, method: false, args, named };
            return Ast::new(call, span.to(end));
        }
        Ast::new(kind, span)
    }
}
