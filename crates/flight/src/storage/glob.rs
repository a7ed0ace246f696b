//! Patterns of names: `?` is any one character, `*` any number of them, `{a,b}` one of these.

/// Patterns of which one is to match, at most.
const MOST_PATTERNS: usize = 64;

/// A pattern; none if its braces say more than is looked for.
pub(super) fn patterns(text: &str) -> Option<Vec<String>> {
    let (mut made, mut waiting) = (Vec::new(), vec![text.to_owned()]);
    while let Some(text) = waiting.pop() {
        // The innermost braces first: what is in them has no others.
        let inner = text.find('}').and_then(|end| Some((text[..end].rfind('{')?, end)));
        match inner {
            None => made.push(text),
            Some((start, end)) => {
                let each = text[start + 1..end].split(',');
                waiting.extend(each.map(|one| format!("{}{one}{}", &text[..start], &text[end + 1..])));
            }
        }
        if made.len() + waiting.len() > MOST_PATTERNS {
            return None;
        }
    }
    Some(made)
}

/// Whether a name matches a pattern without braces.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // Where the last star stands, and how much of the name it has.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(one) if *one == '?' || *one == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, in_name) = (place + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        for (pattern, name, wanted) in [
            ("*", "a.py", true),
            ("*.py", "a.py", true),
            ("*.py", "a.pyc", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("", "", true),
            ("", "a", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ab", true),
            ("*a*b", "ba", false),
            ("?\u{e9}", "\u{1f4c8}\u{e9}", true),
            ("{a,b}*.{py,md}", "b1.md", true),
            ("{a,b}*.{py,md}", "c1.md", false),
            ("x{,y{1,2}}", "xy2", true),
            ("x{,y{1,2}}", "x", true),
            ("}{", "}{", true),
        ] {
            let found = patterns(pattern).expect("few").iter().any(|one| matches(one, name));
            assert_eq!(found, wanted, "{pattern} and {name}");
        }
        assert!(patterns(&"{a,b}".repeat(10)).is_none());
        assert!(!matches(&"*a".repeat(100), &"a".repeat(99)));
    }
}
