//! Decimal numbers as text into their digits.

/// The integer `text × 10^scale`, if it is one: a number in plain notation, never rounded.
pub fn unscaled(text: &str, scale: i8) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let wanted = usize::try_from(scale).ok()?;
    if fraction.len() > wanted {
        return None;
    }
    let padded = format!("{whole}{fraction:0<wanted$}");
    padded.parse::<i128>().ok().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(unscaled("-1.50", 1), Some(-15));
        assert_eq!(unscaled("1.55", 1), None);
        assert_eq!(unscaled("7", 3), Some(7000));
        assert_eq!(unscaled("-0.05", 2), Some(-5));
        assert_eq!(unscaled("1e3", 2), None);
    }
}
