//! From a formula as it was written to the tree that expression objects make too: names are looked
//! up as columns, constants, and variables of the caller, in that order.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};

use crate::error::Error;
use crate::language::ast::{Ast, Kind, Match, Matched};
use crate::language::constants;
use crate::language::family::combined;
use crate::language::lex::Span;
use crate::language::library;
use crate::language::names::{Lowered, Names, Trouble, one, wrong};
use crate::missing::{NoColumn, nearest};
use crate::tree::expr::Expr;
use crate::tree::family::Family;
use crate::tree::function::{Function, Struct, Text, Time};
use crate::tree::literal::Literal;
use crate::tree::set::LiveSet;
use crate::tree::types::type_name;

pub(crate) fn lower(ast: &Ast, names: &Names<'_>) -> Lowered {
    match &ast.kind {
        Kind::Name(name) => names.name(name, ast.span),
        Kind::Literal(literal, None) => Ok(Expr::Literal(literal.clone())),
        Kind::Literal(literal, Some(data_type)) => Ok(cast(Expr::Literal(literal.clone()), data_type.clone())),
        Kind::Period(_) => Err(wrong(ast.span, "calendar time stands only after + or − beside a date or an instant")),
        Kind::Operator(function, args) => names.operator(*function, args),
        Kind::Logic(function, args) => names.logic(*function, args),
        Kind::Choice(parts) => {
            let [condition, then, otherwise] = &**parts;
            Ok(Expr::When {
                branches: vec![(lower(condition, names)?, lower(then, names)?)],
                otherwise: Some(Arc::new(lower(otherwise, names)?)),
            })
        }
        Kind::Cast(to, input) => Ok(cast(lower(input, names)?, to.clone())),
        Kind::Match(subject, how, items) => names.matched(subject, *how, items),
        Kind::Call { name, at, method, args, named } => names.call(name, *at, *method, args, named, ast.span),
        Kind::Field(subject, name, at) => {
            if let Kind::Name(outer) = &subject.kind
                && !names.is_column(outer)
                && !names.values.contains_key(&**outer)
            {
                lower(subject, names)?;
            }
            let value = lower(subject, names)?;
            if matches!(names.family(&value), Family::Struct | Family::Unknown) {
                let args = vec![value, Expr::literal(&**name)];
                return Ok(Expr::Call { function: Function::Struct(Struct::Field), args });
            }
            Err(wrong(
                *at,
                format!("only a struct has fields, and {name} is taken of none; methods need brackets: .{name}()"),
            ))
        }
        Kind::Index(subject, index) => names.indexed(subject, index, ast.span),
    }
}

fn cast(input: Expr, to: DataType) -> Expr {
    Expr::Cast { input: Arc::new(input), to, strict: true }
}

/// Whether its values are true or false, whatever its columns are.
fn is_test(value: &Expr) -> bool {
    use Function::{
        Equal, EqualMissing, Greater, GreaterEqual, IsBetween, IsFinite, IsIn, IsInfinite, IsNan, IsNotNan, IsNotNull,
        IsNull, Less, LessEqual, NotEqual, NotEqualMissing,
    };
    let Expr::Call { function, .. } = value else { return false };
    matches!(
        function,
        Equal
            | NotEqual
            | Less
            | LessEqual
            | Greater
            | GreaterEqual
            | EqualMissing
            | NotEqualMissing
            | IsNull
            | IsNotNull
            | IsNan
            | IsNotNan
            | IsFinite
            | IsInfinite
            | IsIn { .. }
            | IsBetween { .. }
            | Function::Text(Text::Contains { .. } | Text::StartsWith | Text::EndsWith)
    )
}

impl Names<'_> {
    fn name(&self, name: &Arc<str>, span: Span) -> Lowered {
        if self.is_column(name) {
            return Ok(Expr::column(Arc::clone(name)));
        }
        match &**name {
            "i" | "ii" => return Ok(Expr::Call { function: Function::Position, args: vec![] }),
            "k" => return Ok(Expr::Call { function: Function::RowKey, args: vec![] }),
            _ => {}
        }
        if let Some(constant) = constants::constant(name) {
            return Ok(Expr::Literal(constant));
        }
        match (self.values.get(&**name), self.columns) {
            (Some(value), Some(_)) => Ok(typed(value.clone())),
            (Some(value), None) => {
                let args = vec![Expr::column(Arc::clone(name)), Expr::Literal(value.clone())];
                Ok(Expr::Call { function: Function::Variable, args })
            }
            (None, None) => Ok(Expr::column(Arc::clone(name))),
            (None, Some(schema)) => Err(self.unknown(name, span, schema)),
        }
    }

    pub(crate) fn unknown(&self, name: &str, span: Span, schema: &Schema) -> Trouble {
        let fields = || schema.fields().iter().map(|field| field.name().as_str());
        if let Some(Err(trouble)) = self.bare_array(name, span) {
            return trouble;
        }
        if library::names().any(|function| function == name) && !fields().any(|field| field.eq_ignore_ascii_case(name))
        {
            return wrong(span, format!("{name} is a function: write {name}(…)"));
        }
        if let Some(Err(why)) = self.sets.get(name).filter(|_| !fields().any(|field| field.eq_ignore_ascii_case(name)))
            && why.starts_with(name)
        {
            // A variable of the caller that is no value.
            return wrong(span, why.clone());
        }
        if self.sets.contains_key(name) {
            return wrong(span, format!("{name} is a table: it stands only behind in and not in, as a set of values"));
        }
        let mut missing = NoColumn::new(name, fields());
        let variable = || nearest(name, self.values.keys().map(String::as_str));
        missing.nearest = missing.nearest.or_else(variable);
        Trouble { span, error: Error::UnknownColumn(missing) }
    }

    /// A part that is compared: a variable there has the type of what it meets, as a literal has.
    fn compared(&self, ast: &Ast) -> Lowered {
        if let Kind::Name(name) = &ast.kind
            && self.columns.is_some()
            && !self.is_column(name)
            && let Some(value) = self.values.get(&**name)
            && let Expr::Cast { .. } = self.name(name, ast.span)?
        {
            return Ok(Expr::Literal(value.clone()));
        }
        lower(ast, self)
    }

    fn operator(&self, function: Function, args: &[Ast]) -> Lowered {
        match (function, args) {
            (Function::Equal | Function::NotEqual, [a, b]) => {
                let (a, b) = (self.compared(a)?, self.compared(b)?);
                let test = if function == Function::Equal { Function::IsNull } else { Function::IsNotNull };
                Ok(match (is_null(&a), is_null(&b)) {
                    (_, true) => one(test, a),
                    (true, false) => one(test, b),
                    _ => Expr::Call { function, args: vec![a, b] },
                })
            }
            (Function::Less | Function::LessEqual | Function::Greater | Function::GreaterEqual, _) => {
                let args = args.iter().map(|arg| self.compared(arg)).collect::<Result<_, _>>()?;
                Ok(Expr::Call { function, args })
            }
            (Function::Add | Function::Subtract, [first, rest @ ..]) => {
                let mut sum = lower(first, self)?;
                // The family goes along: looking through the sum at each term would take quadratic time.
                let mut family = self.family(&sum);
                for next in rest {
                    (sum, family) = self.sum(function, sum, family, next)?;
                }
                Ok(sum)
            }
            _ => {
                let args = args.iter().map(|arg| lower(arg, self)).collect::<Result<_, _>>()?;
                Ok(Expr::joined(function, args))
            }
        }
    }

    /// Conditions combined. Integers would be combined bit by bit, which `&`, `|` and `~` say.
    fn logic(&self, function: Function, args: &[Ast]) -> Lowered {
        let (word, bitwise) = match function {
            Function::And => ("and", "&"),
            Function::Or => ("or", "|"),
            _ => ("not", "~"),
        };
        let mut conditions = Vec::with_capacity(args.len());
        for arg in args {
            let condition = lower(arg, self)?;
            if let Some(found) = self.integers(&condition) {
                let advice =
                    format!("it takes conditions; compare it (x != 0), or write {bitwise} for the bits of integers");
                let error = Error::Type { function: word.to_owned(), types: vec![type_name(&found)], advice };
                return Err(Trouble { span: arg.span, error });
            }
            conditions.push(condition);
        }
        Ok(Expr::joined(function, conditions))
    }

    /// The type of a value, if it is known to be of integers.
    fn integers(&self, value: &Expr) -> Option<DataType> {
        match value {
            Expr::Literal(Literal::Int(_) | Literal::UInt(_)) => Some(DataType::Int64),
            Expr::Literal(_) | Expr::InSet { .. } => None,
            value if is_test(value) => None,
            value => {
                let bound = crate::eval::bind::bind(&value.without_sets(), self.columns?).ok()?;
                Some(bound.data_type().clone()).filter(crate::tree::types::is_integer)
            }
        }
    }

    /// One more term: of text, a cast to text; of an instant, a duration.
    fn sum(&self, function: Function, sum: Expr, a: Family, next: &Ast) -> Result<(Expr, Family), Trouble> {
        if let Kind::Period(period) = &next.kind {
            let period = match (function, period.strip_prefix('-')) {
                (Function::Subtract, Some(positive)) => positive.to_owned(),
                (Function::Subtract, None) => format!("-{period}"),
                _ => period.clone(),
            };
            let args = vec![sum, Expr::literal(&*period)];
            return Ok((Expr::Call { function: Function::Time(Time::OffsetBy), args }, a));
        }
        let next = lower(next, self)?;
        let b = self.family(&next);
        let (sum, next) = match (a, b) {
            (Family::Text, Family::Integer | Family::Other | Family::Instant) if function == Function::Add => {
                (sum, cast(next, DataType::Utf8))
            }
            (Family::Integer | Family::Other | Family::Instant, Family::Text) if function == Function::Add => {
                (cast(sum, DataType::Utf8), next)
            }
            (Family::Instant, Family::Integer) => (sum, cast(next, crate::tree::types::DURATION)),
            _ => (sum, next),
        };
        Ok((Expr::joined(function, vec![sum, next]), combined(function, &[a, b])))
    }

    /// The live set that a name means, of a table of one column.
    fn set(&self, ast: &Ast) -> Result<Option<LiveSet>, Trouble> {
        let Kind::Name(name) = &ast.kind else { return Ok(None) };
        let found = self.sets.get(&**name).filter(|_| !self.is_column(name)).cloned();
        found.transpose().map_err(|why| wrong(ast.span, format!("{name}: {why}")))
    }

    fn matched(&self, subject: &Ast, how: Match, items: &[Ast]) -> Lowered {
        let mut subject = lower(subject, self)?;
        let (mut known, mut others, mut sets, mut long) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for item in items {
            if let Some(set) = self.set(item)? {
                if how.how != Matched::In || how.ignore_case {
                    return Err(wrong(item.span, "a live set stands only behind in and not in, where case counts"));
                }
                sets.push(set);
                continue;
            }
            match self.compared(item)? {
                Expr::Literal(Literal::List(values)) => known.extend(values),
                Expr::Literal(Literal::Values(values)) if how.how == Matched::In && !how.ignore_case => {
                    long.push(values)
                }
                Expr::Literal(list @ Literal::Values(_)) => {
                    known.extend(list.items().unwrap_or_default().iter().cloned())
                }
                Expr::Literal(literal) => known.push(literal),
                Expr::Cast { input, .. } if matches!(&*input, Expr::Literal(_)) => {
                    if let Expr::Literal(literal) = &*input {
                        known.push(literal.clone());
                    }
                }
                other => others.push(other),
            }
        }
        if how.ignore_case {
            let lower_case = Function::Text(Text::ToLowercase);
            subject = one(lower_case, subject);
            for literal in &mut known {
                if let Literal::Str(text) = literal {
                    *literal = Literal::Str(text.to_lowercase().into());
                }
            }
            others = others.into_iter().map(|other| one(lower_case, other)).collect();
        }
        let mut terms = Vec::new();
        let connective = if how.how == Matched::IncludesAll { Function::And } else { Function::Or };
        if how.how == Matched::In {
            if !known.is_empty() || others.is_empty() && sets.is_empty() && long.is_empty() {
                let nulls_equal = known.contains(&Literal::Null);
                let args = vec![subject.clone(), Expr::Literal(Literal::List(known))];
                terms.push(Expr::Call { function: Function::IsIn { nulls_equal }, args });
            }
            terms.extend(long.into_iter().map(|values| {
                let function = Function::IsIn { nulls_equal: values.array().null_count() > 0 };
                Expr::Call { function, args: vec![subject.clone(), Expr::Literal(Literal::Values(values))] }
            }));
            let input = Arc::new(subject.clone());
            terms.extend(sets.into_iter().map(|set| Expr::InSet { input: input.clone(), set, nulls_equal: false }));
            terms.extend(
                others
                    .into_iter()
                    .map(|other| Expr::Call { function: Function::Equal, args: vec![subject.clone(), other] }),
            );
        } else {
            let function = Function::Text(Text::Contains { literal: true });
            let parts = known.into_iter().map(Expr::Literal).chain(others);
            terms.extend(parts.map(|part| Expr::Call { function, args: vec![subject.clone(), part] }));
            if terms.is_empty() {
                terms.push(Expr::literal(how.how == Matched::IncludesAll));
            }
        }
        let found =
            if terms.len() == 1 { terms.swap_remove(0) } else { Expr::Call { function: connective, args: terms } };
        Ok(if how.not { one(Function::Not, found) } else { found })
    }

    fn call(
        &self,
        name: &Arc<str>,
        at: Span,
        method: bool,
        args: &[Ast],
        named: &[(Arc<str>, Ast)],
        span: Span,
    ) -> Lowered {
        match (&**name, args) {
            ("cast", [input, to]) => return self.cast(input, to, named),
            ("cast", _) => return Err(wrong(span, "cast takes a value and a type: cast(X, Int32, strict=false)")),
            ("nullValueFor", [of]) => return self.null_of(of),
            ("nullValueFor", _) => return Err(wrong(span, "nullValueFor takes a type or a value: nullValueFor(int)")),
            ("col", [Ast { kind: Kind::Literal(Literal::Str(column), None), .. }]) if !method => {
                return Ok(Expr::column(Arc::clone(column)));
            }
            ("plus", [time, by @ Ast { kind: Kind::Period(_), .. }]) => {
                return self.sum(Function::Add, lower(time, self)?, Family::Unknown, by).map(|(moved, _)| moved);
            }
            ("minus", [time, by @ Ast { kind: Kind::Period(_), .. }]) => {
                return self.sum(Function::Subtract, lower(time, self)?, Family::Unknown, by).map(|(moved, _)| moved);
            }
            ("size" | "length", [Ast { kind: Kind::Name(array), span: here, .. }])
                if method && self.array(array).is_some() =>
            {
                return self.whole(array, *here).map(|column| one(Function::Rows, column));
            }
            _ => {}
        }
        if let Some(drawn) = self.chance(name, args, named, span)? {
            return Ok(drawn);
        }
        if let Some(made) = self.of_list(name, span, args)? {
            return Ok(made);
        }
        let Some(entry) = library::function(name) else {
            if let Some(function) = self.functions.get(&**name).filter(|_| !method) {
                let args = args.iter().map(|arg| lower(arg, self)).collect::<Result<_, _>>()?;
                return Ok(Expr::Host { function: function.clone(), args });
            }
            let what = if method { "method" } else { "function" };
            let known = library::names().chain(self.functions.keys().map(String::as_str));
            let near = nearest(name, known);
            let hint = near.map_or_else(String::new, |near| format!(", did you mean {near}?"));
            return Err(wrong(at, format!("there is no {what} {name}{hint}")));
        };
        let compares = matches!(&**name, "min" | "max" | "clamp" | "inRange" | "equals" | "isBefore" | "isAfter");
        let args = args.iter().map(|arg| if compares { self.compared(arg) } else { lower(arg, self) });
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let args = if entry.name == "concat" { self.as_texts(args) } else { args };
        entry.make(args).map_err(|message| wrong(span, message))
    }

    /// The null of a type that is named, or of the type of a value.
    fn null_of(&self, of: &Ast) -> Lowered {
        let is_column = matches!(&of.kind, Kind::Name(name) if self.is_column(name));
        if let Some(data_type) = constants::type_of(of).ok().filter(|_| !is_column) {
            return Ok(Expr::Literal(Literal::TypedNull(data_type)));
        }
        Ok(Expr::When { branches: vec![(Expr::literal(false), lower(of, self)?)], otherwise: None })
    }

    fn as_texts(&self, args: Vec<Expr>) -> Vec<Expr> {
        let as_text = |arg: Expr| match self.family(&arg) {
            Family::Text | Family::Unknown => arg,
            _ => cast(arg, DataType::Utf8),
        };
        args.into_iter().map(as_text).collect()
    }

    fn cast(&self, input: &Ast, to: &Ast, named: &[(Arc<str>, Ast)]) -> Lowered {
        let mut strict = true;
        for (key, value) in named {
            match (&**key, &value.kind) {
                ("strict", Kind::Literal(Literal::Bool(given), None)) => strict = *given,
                ("strict", _) => return Err(wrong(value.span, "strict is true or false")),
                _ => return Err(wrong(value.span, format!("cast has no argument {key}; it has strict"))),
            }
        }
        let to = constants::type_of(to).map_err(|message| wrong(to.span, message))?;
        Ok(Expr::Cast { input: Arc::new(lower(input, self)?), to, strict })
    }
}

/// A variable's number is Int64 or Float64, whatever stands beside it.
fn typed(value: Literal) -> Expr {
    match value {
        Literal::Int(_) => cast(Expr::Literal(value), DataType::Int64),
        Literal::Float(_) => cast(Expr::Literal(value), DataType::Float64),
        other => Expr::Literal(other),
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal::Null | Literal::TypedNull(_)))
}
