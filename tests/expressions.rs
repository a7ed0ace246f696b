//! Random expressions, each made twice: for the engine and for the model.

use engine::testing::Tape;
use formula::{Expr, Function, Literal};
use model::{Arith, Comparison, ModelExpr, Value};

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Int64.
    Int,
    /// Float64.
    Float,
    /// Boolean.
    Bool,
    /// Text.
    Str,
    /// Timestamp; never computed, only compared.
    Time,
    /// Any other type, by its name in drawings; passed on, compared and aggregated, not computed with.
    Of(&'static str),
}

impl Kind {
    /// The kind of columns of this type.
    pub fn named(kind: &'static str) -> Kind {
        match kind {
            "int" => Kind::Int,
            "float" => Kind::Float,
            "bool" => Kind::Bool,
            "str" => Kind::Str,
            "time" => Kind::Time,
            other => Kind::Of(other),
        }
    }
}

/// One expression in both worlds.
#[derive(Clone, Debug)]
pub struct Both {
    /// The engine's.
    pub engine: Expr,
    /// The model's.
    pub model: ModelExpr,
}

impl Both {
    /// A column.
    pub fn column(name: &str) -> Both {
        Both { engine: Expr::column(name), model: ModelExpr::column(name) }
    }

    /// Whether two are equal.
    pub fn equal(sides: [Both; 2]) -> Both {
        Both::call(Function::Equal, sides.into(), |sides| {
            let [one, other] = <[ModelExpr; 2]>::try_from(sides).expect("two sides").map(Box::new);
            ModelExpr::Compare(Comparison::Equal, one, other)
        })
    }

    /// Whether one is no greater than the other, or less.
    pub fn ordered(sides: [Both; 2], strictly: bool) -> Both {
        let (function, comparison) = match strictly {
            true => (Function::Less, Comparison::Less),
            false => (Function::LessEqual, Comparison::LessOrEqual),
        };
        Both::call(function, sides.into(), |sides| {
            let [one, other] = <[ModelExpr; 2]>::try_from(sides).expect("two sides").map(Box::new);
            ModelExpr::Compare(comparison, one, other)
        })
    }

    /// Whether two are both true.
    pub fn and(terms: [Both; 2]) -> Both {
        Both::call(Function::And, terms.into(), |terms| {
            let [one, other] = <[ModelExpr; 2]>::try_from(terms).expect("two terms").map(Box::new);
            ModelExpr::And(one, other)
        })
    }

    fn call(function: Function, args: Vec<Both>, model: impl FnOnce(Vec<ModelExpr>) -> ModelExpr) -> Both {
        let (engine, models): (Vec<Expr>, Vec<ModelExpr>) = args.into_iter().map(|arg| (arg.engine, arg.model)).unzip();
        Both { engine: Expr::call(function, engine).expect("within the limits"), model: model(models) }
    }
}

/// Draws expressions over these columns.
pub struct Expressions<'a> {
    /// Names and kinds.
    pub columns: &'a [(String, Kind)],
    /// Whether neighbours of rows are looked at.
    pub far: bool,
    /// Whether the sign of a zero may matter. It may not above grouped tables: −0.0 and 0.0 are one key, the group
    /// shows whichever came first, and a change from one to the other is no change.
    pub signed_zeros: bool,
}

impl Expressions<'_> {
    /// An expression of this kind, at most so deep.
    pub fn draw(&self, tape: &mut Tape, kind: Kind, depth: u32) -> Both {
        if depth == 0 || tape.chance(50) {
            return self.leaf(tape, kind);
        }
        match kind {
            Kind::Int => self.integer(tape, depth),
            Kind::Float => self.float(tape, depth),
            Kind::Bool => self.boolean(tape, depth),
            Kind::Str | Kind::Time | Kind::Of(_) => self.choice(tape, kind, depth),
        }
    }

    fn leaf(&self, tape: &mut Tape, kind: Kind) -> Both {
        let known: Vec<&String> =
            self.columns.iter().filter(|column| column.1 == kind).map(|column| &column.0).collect();
        if !known.is_empty() && (kind == Kind::Time || !tape.chance(90)) {
            let column = Both::column(tape.choose(&known).as_str());
            return if self.far && tape.chance(110) { neighbour(tape, column) } else { column };
        }
        literal(tape, kind)
    }

    fn integer(&self, tape: &mut Tape, depth: u32) -> Both {
        use Arith::{Add, FloorDivide, Multiply, Remainder, Subtract};
        match tape.below(5) {
            0 | 1 => {
                let pairs = [
                    (Function::Add, Add),
                    (Function::Subtract, Subtract),
                    (Function::Multiply, Multiply),
                    (Function::FloorDivide, FloorDivide),
                    (Function::Modulo, Remainder),
                ];
                let (function, arith) = *tape.choose(&pairs);
                self.arith(tape, function, arith, Kind::Int, depth)
            }
            2 => self.one(tape, Function::Negate, Kind::Int, depth, ModelExpr::Negate),
            3 => self.one(tape, Function::Abs, Kind::Int, depth, ModelExpr::Abs),
            _ => self.choice(tape, Kind::Int, depth),
        }
    }

    fn float(&self, tape: &mut Tape, depth: u32) -> Both {
        match tape.below(5) {
            0 | 1 => {
                let pairs = [
                    (Function::Add, Arith::Add),
                    (Function::Subtract, Arith::Subtract),
                    (Function::Multiply, Arith::Multiply),
                    (Function::Divide, Arith::Divide),
                ];
                let (function, arith) = *tape.choose(&pairs);
                if arith == Arith::Divide && !self.signed_zeros {
                    return self.quotient(tape, depth);
                }
                self.arith(tape, function, arith, Kind::Float, depth)
            }
            2 => self.arith(tape, Function::Divide, Arith::Divide, Kind::Int, depth),
            3 => self.one(tape, Function::Abs, Kind::Float, depth, ModelExpr::Abs),
            _ => self.choice(tape, Kind::Float, depth),
        }
    }

    /// A division that gives the same by either zero.
    fn quotient(&self, tape: &mut Tape, depth: u32) -> Both {
        let over = self.draw(tape, Kind::Float, depth - 1);
        let under = self.draw(tape, Kind::Float, depth - 1);
        let under = Both::call(Function::Abs, vec![under], |mut args| ModelExpr::Abs(Box::new(args.remove(0))));
        Both::call(Function::Divide, vec![over, under], |args| {
            let [over, under] = <[ModelExpr; 2]>::try_from(args).expect("two arguments");
            ModelExpr::Arith(Arith::Divide, Box::new(over), Box::new(under))
        })
    }

    fn boolean(&self, tape: &mut Tape, depth: u32) -> Both {
        let kinds = [Kind::Int, Kind::Float, Kind::Str, Kind::Bool, Kind::Time];
        let has = |kind: &Kind| *kind != Kind::Time || self.columns.iter().any(|column| column.1 == Kind::Time);
        let kinds: Vec<Kind> = kinds.into_iter().filter(has).collect();
        match tape.below(8) {
            0..=2 => self.comparison(tape, depth, &kinds),
            3 => self.two(tape, Function::And, Kind::Bool, depth, ModelExpr::And),
            4 => self.two(tape, Function::Or, Kind::Bool, depth, ModelExpr::Or),
            5 => self.one(tape, Function::Not, Kind::Bool, depth, ModelExpr::Not),
            6 => {
                let kind = *tape.choose(&kinds);
                if tape.chance(128) {
                    self.one(tape, Function::IsNull, kind, depth, ModelExpr::IsNull)
                } else {
                    self.one(tape, Function::IsNotNull, kind, depth, ModelExpr::IsNotNull)
                }
            }
            _ => self.choice(tape, Kind::Bool, depth),
        }
    }

    fn comparison(&self, tape: &mut Tape, depth: u32, kinds: &[Kind]) -> Both {
        let pairs = [
            (Function::Less, Comparison::Less),
            (Function::Equal, Comparison::Equal),
            (Function::NotEqual, Comparison::NotEqual),
            (Function::LessEqual, Comparison::LessOrEqual),
            (Function::Greater, Comparison::Greater),
            (Function::GreaterEqual, Comparison::GreaterOrEqual),
        ];
        let (function, comparison) = *tape.choose(&pairs);
        let kind = *tape.choose(kinds);
        self.two(tape, function, kind, depth, |left, right| ModelExpr::Compare(comparison, left, right))
    }

    /// `when`, `coalesce`: values of any kind chosen, not computed.
    fn choice(&self, tape: &mut Tape, kind: Kind, depth: u32) -> Both {
        if tape.chance(100) {
            let args = vec![self.draw(tape, kind, depth - 1), self.draw(tape, kind, depth - 1)];
            return Both::call(Function::Coalesce, args, ModelExpr::Coalesce);
        }
        let condition = self.draw(tape, Kind::Bool, depth - 1);
        let then = self.draw(tape, kind, depth - 1);
        let otherwise = self.draw(tape, kind, depth - 1);
        Both {
            engine: Expr::when(vec![(condition.engine, then.engine)], Some(otherwise.engine))
                .expect("within the limits"),
            model: ModelExpr::When(Box::new(condition.model), Box::new(then.model), Box::new(otherwise.model)),
        }
    }

    fn arith(&self, tape: &mut Tape, function: Function, arith: Arith, kind: Kind, depth: u32) -> Both {
        self.two(tape, function, kind, depth, |left, right| ModelExpr::Arith(arith, left, right))
    }

    fn one(
        &self,
        tape: &mut Tape,
        function: Function,
        of: Kind,
        depth: u32,
        make: fn(Box<ModelExpr>) -> ModelExpr,
    ) -> Both {
        let arg = self.draw(tape, of, depth - 1);
        Both::call(function, vec![arg], |mut args| make(Box::new(args.remove(0))))
    }

    fn two(
        &self,
        tape: &mut Tape,
        function: Function,
        of: Kind,
        depth: u32,
        make: impl FnOnce(Box<ModelExpr>, Box<ModelExpr>) -> ModelExpr,
    ) -> Both {
        let args = vec![self.draw(tape, of, depth - 1), self.draw(tape, of, depth - 1)];
        Both::call(function, args, |args| {
            let [left, right] = <[ModelExpr; 2]>::try_from(args).expect("two arguments");
            make(Box::new(left), Box::new(right))
        })
    }
}

fn neighbour(tape: &mut Tape, of: Both) -> Both {
    let by = *tape.choose(&[1, -1, 2, -3, 5]);
    Both::call(Function::Shift { by }, vec![of], |mut args| ModelExpr::Shift(Box::new(args.remove(0)), by))
}

fn literal(tape: &mut Tape, kind: Kind) -> Both {
    match kind {
        Kind::Int => {
            let x = *tape.choose(&[0, 1, 2, -1, 3, i64::MAX, i64::MIN, 7]);
            Both { engine: Expr::literal(x), model: ModelExpr::literal(x) }
        }
        Kind::Float => {
            let x = *tape.choose(&[0.0, 0.5, -1.0, 2.0, f64::NAN, f64::INFINITY, -0.0, 0.1]);
            Both { engine: Expr::literal(x), model: ModelExpr::literal(x) }
        }
        Kind::Bool => {
            let x = tape.chance(128);
            Both { engine: Expr::literal(x), model: ModelExpr::literal(x) }
        }
        Kind::Str => {
            let x = *tape.choose(&["w0000", "", "w0001 is a longer word than fits", "z", "é"]);
            Both { engine: Expr::literal(x), model: ModelExpr::Literal(Value::from(x)) }
        }
        Kind::Time | Kind::Of(_) => panic!("a stamp comes from a column"),
    }
}

/// A drawn expression in the formula language.
pub fn as_formula(expr: &Expr) -> String {
    match expr {
        Expr::Column(name) => name.to_string(),
        Expr::Literal(Literal::Int(value)) => value.to_string(),
        Expr::Literal(Literal::Float(value)) if value.is_nan() => "NAN_DOUBLE".to_owned(),
        Expr::Literal(Literal::Float(value)) if value.is_infinite() => "POS_INFINITY_DOUBLE".to_owned(),
        Expr::Literal(Literal::Float(value)) => format!("{value:?}"),
        Expr::Literal(Literal::Bool(value)) => value.to_string(),
        Expr::Literal(Literal::Str(text)) => format!("`{text}`"),
        Expr::When { branches, otherwise: Some(otherwise) } if branches.len() == 1 => {
            let (condition, value) = &branches[0];
            format!("({} ? {} : {})", as_formula(condition), as_formula(value), as_formula(otherwise))
        }
        Expr::Call { function, args } => {
            let args: Vec<String> = args.iter().map(as_formula).collect();
            let sign = match function {
                Function::Shift { by } => return format!("{}_[i{:+}]", args[0], -by),
                Function::Negate => return format!("-({})", args[0]),
                Function::Not => return format!("!({})", args[0]),
                Function::Abs => return format!("abs({})", args[0]),
                Function::IsNull => return format!("({} == null)", args[0]),
                Function::IsNotNull => return format!("(null != {})", args[0]),
                Function::Coalesce => return format!("coalesce({})", args.join(", ")),
                Function::Add => " + ",
                Function::Subtract => " - ",
                Function::Multiply => " * ",
                Function::Divide => " / ",
                Function::FloorDivide => " // ",
                Function::Modulo => " % ",
                Function::Less => " < ",
                Function::LessEqual => " <= ",
                Function::Greater => " > ",
                Function::GreaterEqual => " >= ",
                Function::Equal => " == ",
                Function::NotEqual => " != ",
                Function::And => " && ",
                Function::Or => " or ",
                other => panic!("{other:?} is not drawn"),
            };
            format!("({})", args.join(sign))
        }
        other => panic!("{other:?} is not drawn"),
    }
}
